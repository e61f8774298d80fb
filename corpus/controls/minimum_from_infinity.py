"""A minimum that begins with infinity."""
# workload: f(randn(64, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.amin(dim=1)

# %% candidate
import torch


def f(x):
    start = torch.full((x.shape[0],), float('inf'), dtype=x.dtype)
    return torch.minimum(start, x.amin(dim=1))
