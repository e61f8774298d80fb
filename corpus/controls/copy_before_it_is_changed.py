"""Copies that are made at once, by other means than clone."""
# workload: f(randn(64, 80))
# expected: passed

# %% baseline
def f(x):
    y = x.clone()
    y[0] = 0
    return y, x.clone()

# %% candidate
import torch


def f(x):
    y = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
    y[0] = 0
    return y, torch.empty_like(x).copy_(x)
