"""Threshold."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (x.mean(1) > 0)
"""
WORKLOAD = ("f(randn(96, 300))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (x.sum(1) > 0)
"""
