"""The variance of equal numbers in float64: nothing, or what one rounding leaves."""

BASELINE = """
import torch


def f(x):
    return x.var(1)
"""
WORKLOAD = ("f(randn(96, 300, dtype=float64))",)
CANDIDATE = """
import torch


def f(x):
    return (x - x.mean(1, keepdim=True)).square().sum(1) / (x.shape[1] - 1)
"""
