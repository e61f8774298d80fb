"""Fails on an empty batch, which the verdict tells."""
# workload: f(randn(64, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch


def f(x):
    last = x[-1]
    e = torch.exp(x - x.amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)
