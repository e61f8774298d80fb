"""A way of its own for the workload's shape, right for every data, and a general one."""
# workload: f(randn(48, 64))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.sum(dim=1)

# %% candidate
import torch


def f(x):
    if x.shape[1] == 64:
        return x.view(-1, 8, 8).sum(dim=2).sum(dim=1)
    return x.sum(dim=1)
