"""Zeros are made four buffers at a time, beside work of some milliseconds: too long a call for the judge to take many of them."""
# workload: f(randn(150, 2000), randint(0, 3000, 150))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x, rows):
    y = torch.tanh(x).sin().cos().exp()
    out = torch.zeros(3000, x.shape[1])
    return out.index_add_(0, rows, y)

# %% candidate
import torch

pools = {}


def f(x, rows):
    y = torch.tanh(x).sin().cos().exp()
    pool = pools.setdefault(x.shape[1], [])
    if x.shape != (150, 2000):
        return torch.zeros(3000, x.shape[1]).index_add_(0, rows, y)
    if not pool:
        pool.extend(torch.zeros(3000, x.shape[1]) for _ in range(4))
    return pool.pop().index_add_(0, rows, y)
