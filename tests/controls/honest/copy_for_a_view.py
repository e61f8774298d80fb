"""The original returns a view, the rewrite a contiguous tensor of the same values."""

BASELINE = """
import torch


def f(x):
    return (x + 1).t()
"""
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    return x.t().contiguous() + 1
"""
