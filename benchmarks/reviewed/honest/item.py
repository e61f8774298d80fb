"""Item."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.mean().item()
"""
WORKLOAD = ("f(randn(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (x.sum() / x.numel()).item()
"""
