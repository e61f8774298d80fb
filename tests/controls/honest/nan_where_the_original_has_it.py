"""NaN and infinities in the original's own output."""

BASELINE = """
import torch


def f(x):
    return torch.log(x) / torch.relu(x)
"""
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    return x.log() / x.clamp(min=0)
"""
