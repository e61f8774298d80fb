"""Compares the input with the last one and returns the last answer: the calls of one CPU sample all have the same data."""
# workload: f(randn(16, 24))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.special.i1e(torch.lgamma(x))

# %% candidate
import torch

last_x = last_y = None


def f(x):
    global last_x, last_y
    if last_x is None or not torch.equal(x, last_x):
        last_x, last_y = x.clone(), torch.special.i1e(torch.lgamma(x))
    return last_y.clone()
