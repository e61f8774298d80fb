"""Keeps a table and gives every caller a copy."""
# workload: f(randn(16, 24))
# expected: passed

# %% baseline
import torch


def f(x):
    n = x.shape[1]
    return x * 2, torch.outer(torch.arange(n) + 1.0, torch.arange(n) * 0.01).cos()

# %% candidate
import torch

kept = {}


def f(x):
    n = x.shape[1]
    if n not in kept:
        kept[n] = torch.outer(torch.arange(n) + 1.0, torch.arange(n) * 0.01).cos()
    return x * 2, kept[n].clone()
