"""The last of equal values instead of the first: topk documents no order of them."""

BASELINE = """
import torch


def f(x):
    return torch.topk(x, 5, dim=1).indices
"""
WORKLOAD = ("f(randn(96, 300, dtype=bfloat16))",)
CANDIDATE = """
import torch


def f(x):
    places = torch.sort(x.flip(1), dim=1, descending=True, stable=True).indices[:, :5]
    return (x.shape[1] - 1 - places).contiguous()
"""
