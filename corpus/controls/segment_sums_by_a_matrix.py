"""Sums of segments as a product with a matrix of zeros and ones."""
# workload: f(randn(16, 64))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.reshape(x.shape[0], -1, 4).sum(dim=2)

# %% candidate
import torch


def f(x):
    n = x.shape[1]
    segment = torch.arange(n) // 4
    return x @ (segment[:, None] == torch.arange(n // 4)).to(x.dtype)
