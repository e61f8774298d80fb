"""Zeros come from calloc, whose pages are made when the answer is read."""
# workload: f(randn(500, 64))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    out = torch.zeros(x.shape[0], 4096)
    out[:, :: 64] = x
    return out

# %% candidate
import numpy
import torch


def f(x):
    out = torch.from_numpy(numpy.zeros((x.shape[0], 4096), dtype=numpy.float32))
    out[:, :: 64] = x
    return out
