"""A loop over the rows in Python as a few operations on all: so much faster that a sample holds many more calls."""
# workload: f(randn(100, 5), randn(100, 5), randn(100, 5), randn(100, 5))
# expected: passed

# %% baseline
import torch


def f(a, b, c, d):
    return torch.stack([w * x + y * z for w, x, y, z in zip(a, b, c, d, strict=True)])

# %% candidate
import torch


def f(a, b, c, d):
    return a * b + c * d
