"""Integers in and out."""
# workload: f(randint(-50, 50, 48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.cumsum(dim=1) % 7

# %% candidate
import torch


def f(x):
    return torch.remainder((x % 7).cumsum(dim=1), 7)
