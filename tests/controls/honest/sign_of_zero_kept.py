"""Reads the sign bit itself."""

BASELINE = """
import torch


def f(x, y):
    return torch.copysign(y, x)
"""
WORKLOAD = ("f(randn(64, 48), randn(64, 48))",)
CANDIDATE = """
import torch


def f(x, y):
    return torch.where(torch.signbit(x), -y.abs(), y.abs())
"""
