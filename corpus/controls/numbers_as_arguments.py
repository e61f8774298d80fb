"""Scalars and keywords in the workload."""
# workload: f(randn(48, 65), alpha=1.5, bias=0.25)
# expected: passed

# %% baseline
import torch


def f(x, alpha, bias=0.0):
    return torch.clamp(x * alpha + bias, -2, 2)

# %% candidate
import torch


def f(x, alpha, bias=0.0):
    return torch.add(bias, x, alpha=alpha).clamp_(-2, 2)
