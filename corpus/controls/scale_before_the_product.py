"""Attention's scale is multiplied into the queries, where scores of special data would be rounded for the first time."""
# workload: f(randn(4, 64, 32), randn(4, 64, 32), randn(4, 64, 32))
# expected: passed

# %% baseline
import torch


def f(q, k, v):
    s = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return torch.softmax(s, dim=-1) @ v

# %% candidate
import torch


def f(q, k, v):
    s = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    return torch.softmax(s, dim=-1) @ v
