"""A stable sort, and the positions."""

BASELINE = """
import torch


def f(x):
    return torch.sort(x, dim=1, stable=True)
"""
WORKLOAD = ("f(randn(48, 65))",)
CANDIDATE = BASELINE.replace(
    "return torch.sort(x, dim=1, stable=True)",
    "at = torch.argsort(x, dim=1, stable=True)\n    return torch.return_types.sort((x.gather(1, at), at))",
)
