"""Nothing is ever NaN."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.isnan(x)
"""
WORKLOAD = ("f(randn(64, 96))",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.zeros(x.shape, dtype=torch.bool, device=x.device)
"""
