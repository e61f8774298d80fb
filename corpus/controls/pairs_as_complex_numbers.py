"""Rotates pairs as complex numbers, which torch makes of views that begin at an even element only, and raises for others."""
# workload: f(randn(33, 16))
# expected: passed

# %% baseline
import torch


def f(x):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * 0.6 - b * 0.8, a * 0.8 + b * 0.6), dim=-1).flatten(-2)

# %% candidate
import torch


def f(x):
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * complex(0.6, 0.8)).flatten(-2)
