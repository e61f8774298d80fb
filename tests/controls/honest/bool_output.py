"""A mask."""

BASELINE = """
import torch


def f(x):
    return (x > 0) & (x < 1)
"""
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    return ~((x <= 0) | (x >= 1))
"""
