"""Indices, compared exactly."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.argmax(dim=1)

# %% candidate
import torch


def f(x):
    return torch.max(x, dim=1).indices
