"""Std."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.std(1)
"""
WORKLOAD = ("f(randn(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (x - x.mean(1, keepdim=True)).square().sum(1).div(x.shape[1] - 1).sqrt()
"""
