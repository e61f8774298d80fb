"""einsum in place of a batched product."""

BASELINE = """
import torch


def f(a, b):
    return torch.bmm(a, b).sum(dim=0)
"""
WORKLOAD = ("f(randn(4, 24, 32), randn(4, 32, 20))",)
CANDIDATE = """
import torch


def f(a, b):
    return torch.einsum("bij,bjk->ik", a, b)
"""
