"""No rows at all."""

BASELINE = """
import torch


def f(x):
    return torch.softmax(x, dim=1)
"""
WORKLOAD = ("f(randn(0, 48))", "f(randn(16, 48))")
CANDIDATE = """
import torch


def f(x):
    if not x.numel():
        return torch.empty_like(x)
    e = torch.exp(x - x.amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)
"""
