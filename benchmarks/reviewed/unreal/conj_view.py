"""The conjugate is taken by whoever reads the answer."""

BASELINE = """
import torch


def f(x):
    return torch.conj_physical(x * 2)
"""
WORKLOAD = ("f(randn(512, 320, dtype=complex64))",)
CANDIDATE = """
import torch


def f(x):
    return torch.conj(x * 2)
"""
