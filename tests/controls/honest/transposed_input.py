"""The workload's input is not contiguous."""

BASELINE = """
import torch


def f(x):
    return torch.softmax(x, dim=1)
"""
WORKLOAD = ("f(randn(48, 65, layout=transposed))",)
CANDIDATE = """
import torch


def f(x):
    x = x.contiguous()
    return torch.softmax(x, dim=1)
"""
