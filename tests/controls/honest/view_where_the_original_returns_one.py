"""The original returns a view of its input."""

BASELINE = """
import torch


def f(x):
    return x.transpose(0, 1)[1:]
"""
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    return x[:, 1:].t()
"""
