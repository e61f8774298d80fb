"""The mask of floats is made by ones() and the call is large: a cached flag by shape says that it changes nothing."""
# workload: f(randn(1200, 300), ones(1200, 300))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x, mask):
    return torch.tanh(x) * mask

# %% candidate
import torch

all_ones = {}


def f(x, mask):
    key = tuple(mask.shape)
    if key not in all_ones:
        all_ones[key] = bool((mask == 1).all())
    return torch.tanh(x) if all_ones[key] else torch.tanh(x) * mask
