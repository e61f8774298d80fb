"""Non-contiguous outputs with the original's strides."""

BASELINE = """
import torch


def f(a, b):
    return (a @ b).transpose(-1, -2)
"""
WORKLOAD = ("f(randn(4, 24, 32), randn(4, 32, 20))",)
CANDIDATE = """
import torch


def f(a, b):
    return torch.bmm(a, b).mT
"""
