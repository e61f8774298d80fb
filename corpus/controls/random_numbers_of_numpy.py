"""Noise from numpy's global generator, drawn alike by both."""
# workload: f(randn(20, 24))
# expected: passed

# %% baseline
import numpy
import torch


def f(x):
    noise = torch.from_numpy(numpy.random.standard_normal(x.shape)).to(x.dtype)
    return x + noise * 0.1

# %% candidate
import numpy
import torch


def f(x):
    noise = torch.from_numpy(numpy.random.standard_normal(x.numel())).to(x.dtype).view(x.shape)
    return noise.mul_(0.1).add_(x)
