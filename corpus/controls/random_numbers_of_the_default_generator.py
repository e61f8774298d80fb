"""Noise from torch's default generator, drawn alike by both."""
# workload: f(randn(20, 24))
# expected: passed

# %% baseline
import torch


def f(x):
    return x + torch.randn_like(x) * 0.1

# %% candidate
import torch


def f(x):
    return torch.randn(x.shape, dtype=x.dtype, device=x.device).mul_(0.1).add_(x)
