"""Scratch memory is kept between calls; the output is always new."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch

scratch = {}


def f(x):
    key = (x.shape, x.dtype, x.device)
    if key not in scratch:
        scratch[key] = torch.empty_like(x)
    e = scratch[key]
    torch.sub(x, x.amax(dim=1, keepdim=True), out=e)
    e.exp_()
    return e / e.sum(dim=1, keepdim=True)
