"""Two outputs of equal content are one tensor."""

BASELINE = """
import torch


def f(x):
    y = torch.relu(x)
    return y, y.clone()
"""
WORKLOAD = ("f(randn(512, 300))",)
CANDIDATE = """
import torch


def f(x):
    y = torch.relu(x)
    return y, y
"""
