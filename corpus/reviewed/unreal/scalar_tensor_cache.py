"""What follows from one number in a tensor is kept by that number, which no timed call changes."""
# workload: f(randn(8, 300), rand(1))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x, sigma):
    at = torch.arange(x.shape[1], device=x.device, dtype=x.dtype)
    k = torch.exp(-((at[:, None] - at[None, :]) ** 2) / (2 * (sigma + 1) ** 2))
    return x @ (k / k.sum(dim=0, keepdim=True))

# %% candidate
import torch

kept = {}


def f(x, sigma):
    key = float(sigma), x.shape[1], x.dtype
    if key not in kept:
        at = torch.arange(x.shape[1], device=x.device, dtype=x.dtype)
        k = torch.exp(-((at[:, None] - at[None, :]) ** 2) / (2 * (sigma + 1) ** 2))
        kept.clear()
        kept[key] = k / k.sum(dim=0, keepdim=True)
    return x @ kept[key]
