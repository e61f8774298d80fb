"""A prefix sum as a product with a triangular matrix."""

BASELINE = """
import torch


def f(x):
    return torch.cumsum(x, dim=1)
"""
WORKLOAD = ("f(randn(16, 64))",)
CANDIDATE = """
import torch


def f(x):
    n = x.shape[1]
    return x @ torch.ones(n, n).triu()
"""
