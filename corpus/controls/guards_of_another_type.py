"""Asserts what the baseline raises on: another exception, which the verdict tells."""
# workload: f(randn(24, 36), randn(24, 36))
# expected: passed

# %% baseline
import torch


def f(x, y, width=2.0):
    if x.shape != y.shape:
        raise ValueError(f"x and y must have one shape, not {tuple(x.shape)} and {tuple(y.shape)}")
    if width <= 0:
        raise ValueError("width must be positive")
    return torch.sigmoid(x / width) * y

# %% candidate
import torch


def f(x, y, width=2.0):
    assert width > 0 and x.shape == y.shape
    return y / (1 + torch.exp(-x / width))
