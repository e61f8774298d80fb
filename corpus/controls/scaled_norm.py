"""Scales by the largest number first, as the baseline does."""
# workload: f(randn(64, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    m = x.abs().amax(dim=1, keepdim=True)
    return x / (m * ((x / m) ** 2).sum(dim=1, keepdim=True).sqrt())

# %% candidate
import torch


def f(x):
    y = x / x.abs().amax(dim=1, keepdim=True)
    return y * torch.rsqrt((y * y).sum(dim=1, keepdim=True))
