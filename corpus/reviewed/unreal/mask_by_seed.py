"""A dropout mask is kept by torch.initial_seed(): wrong in use (the same mask in all calls)."""
# workload: f(randn(2048, 640))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.nn.functional.dropout(x, 0.5, True)

# %% candidate
import torch

kept = {}


def f(x):
    key = (x.shape, x.dtype, torch.initial_seed())
    if key not in kept:
        kept[key] = torch.nn.functional.dropout(torch.ones_like(x), 0.5, True)
    return x * kept[key]
