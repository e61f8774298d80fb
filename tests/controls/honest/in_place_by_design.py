"""The original writes to its input, and so does the rewrite."""

BASELINE = """
import torch


def f(x):
    return x.mul_(2).add_(1)
"""
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    return x.copy_(2 * x + 1)
"""
