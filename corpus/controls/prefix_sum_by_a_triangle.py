"""A prefix sum as a product with a triangular matrix."""
# workload: f(randn(16, 64))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.cumsum(x, dim=1)

# %% candidate
import torch


def f(x):
    n = x.shape[1]
    return x @ torch.ones(n, n).triu()
