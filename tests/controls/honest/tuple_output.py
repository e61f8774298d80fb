"""A tuple of a tensor, an index and a number."""

BASELINE = """
import torch


def f(x):
    values, indices = x.max(dim=1)
    return values, indices, x.shape[1]
"""
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    indices = x.argmax(dim=1)
    return x.gather(1, indices[:, None]).squeeze(1), indices, x.size(1)
"""
