"""Counts as many places as the largest number says."""
# workload: f(randint(0, 100, 640))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.bincount(x).cumsum(0)

# %% candidate
import torch


def f(x):
    return torch.zeros(int(x.max()) + 1, dtype=torch.int64).index_add_(0, x, torch.ones_like(x)).cumsum(0)
