"""Reads the sign bit itself."""
# workload: f(randn(64, 48), randn(64, 48))
# expected: passed

# %% baseline
import torch


def f(x, y):
    return torch.copysign(y, x)

# %% candidate
import torch


def f(x, y):
    return torch.where(torch.signbit(x), -y.abs(), y.abs())
