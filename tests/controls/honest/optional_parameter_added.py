"""A further parameter at the end, with a default."""

BASELINE = """
import torch


def f(x, scale=0.5, bias=0.0):
    return torch.softmax(x * scale + bias, dim=1)
"""
WORKLOAD = ("f(randn(24, 36))",)
CANDIDATE = """
import torch


def f(x, scale=0.5, bias=0.0, dim=1):
    e = torch.exp(x * scale + bias - (x * scale + bias).amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)
"""
