"""Computes with numpy, and returns a tensor in the memory of its array."""
# workload: f(randn(64, 80))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.cumsum(x, dim=1)

# %% candidate
import numpy
import torch


def f(x):
    return torch.from_numpy(numpy.cumsum(x.numpy(), axis=1))
