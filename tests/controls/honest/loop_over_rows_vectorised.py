"""A loop over the rows in Python as a few operations on all: so much faster that a sample holds many more calls."""

BASELINE = """
import torch


def f(a, b, c, d):
    return torch.stack([w * x + y * z for w, x, y, z in zip(a, b, c, d, strict=True)])
"""
WORKLOAD = ("f(randn(400, 5), randn(400, 5), randn(400, 5), randn(400, 5))",)
CANDIDATE = """
import torch


def f(a, b, c, d):
    return a * b + c * d
"""
