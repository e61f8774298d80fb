"""Both give every caller the same table."""
# workload: f(randn(16, 24))
# expected: passed

# %% baseline
import torch

kept = {}


def f(x):
    n = x.shape[1]
    if n not in kept:
        kept[n] = torch.arange(n) * 0.5
    return x * 2, kept[n]

# %% candidate
import torch

kept = {}


def f(x):
    n = x.shape[1]
    if n not in kept:
        kept[n] = torch.arange(n) / 2
    return x + x, kept[n]
