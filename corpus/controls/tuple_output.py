"""A tuple of a tensor, an index and a number."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    values, indices = x.max(dim=1)
    return values, indices, x.shape[1]

# %% candidate
import torch


def f(x):
    indices = x.argmax(dim=1)
    return x.gather(1, indices[:, None]).squeeze(1), indices, x.size(1)
