"""GELU written out with erf."""

BASELINE = """
import torch


def f(x):
    return torch.nn.functional.gelu(x)
"""
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = """
import torch


def f(x):
    return x * 0.5 * (1 + torch.erf(x * 0.7071067811865476))
"""
