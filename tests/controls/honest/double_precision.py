"""float64 in and out."""

BASELINE = """
import torch


def f(x):
    return torch.logsumexp(x, dim=1)
"""
WORKLOAD = ("f(randn(48, 65, dtype=float64))",)
CANDIDATE = """
import torch


def f(x):
    m = x.amax(dim=1, keepdim=True)
    return (m + torch.log(torch.exp(x - m).sum(dim=1, keepdim=True))).squeeze(1)
"""
