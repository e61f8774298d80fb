"""F64 var."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.var(1)
"""
WORKLOAD = ("f(randn(96, 300, dtype=float64))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (x - x.mean(1, keepdim=True)).square().sum(1) / (x.shape[1] - 1)
"""
