"""A minimum that begins with infinity."""

BASELINE = """
import torch


def f(x):
    return x.amin(dim=1)
"""
WORKLOAD = ("f(randn(64, 48))",)
CANDIDATE = """
import torch


def f(x):
    start = torch.full((x.shape[0],), float('inf'), dtype=x.dtype)
    return torch.minimum(start, x.amin(dim=1))
"""
