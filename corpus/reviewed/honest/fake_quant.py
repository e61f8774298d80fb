"""Rounding to a grid by its scale, with the division made a product with the reciprocal of a power of two."""
# workload: f(randn(48, 64))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x):
    return (x / 0.0625).round().clamp(-127, 127) * 0.0625

# %% candidate
import torch
import torch.nn.functional as F


def f(x):
    return torch.clamp(torch.round(x * 16.0), -127.0, 127.0).mul_(0.0625)
