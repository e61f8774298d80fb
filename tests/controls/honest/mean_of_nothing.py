"""Divides by the number of rows, which may be none."""

BASELINE = """
import torch


def f(x):
    return x.mean(dim=0)
"""
WORKLOAD = ("f(randn(64, 48))",)
CANDIDATE = """
import torch


def f(x):
    return torch.ones(x.shape[0]) @ x / torch.tensor(float(x.shape[0]))
"""
