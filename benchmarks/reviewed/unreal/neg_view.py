"""The sign is turned by whoever reads the answer."""

BASELINE = """
import torch


def f(x):
    return -(x + 1)
"""
WORKLOAD = ("f(randn(2048, 320))",)
CANDIDATE = """
import torch


def f(x):
    return torch._neg_view(x + 1)
"""
