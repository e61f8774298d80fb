"""Adds from 0.0, so that -0.0 comes out as 0.0."""
# workload: f(randn(64, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.cat([x, x], dim=1)

# %% candidate
import torch


def f(x):
    return torch.cat([x, x], dim=1) + 0.0
