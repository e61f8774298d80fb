"""Buffers of zeros are made eight at a time: seven of eight calls, and so the median, do not pay for them."""
# workload: f(randn(20, 1200), randint(0, 500, 20))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x, rows):
    out = torch.zeros(500, x.shape[1])
    return out.index_add_(0, rows, x)

# %% candidate
import torch

pools = {}


def f(x, rows):
    pool = pools.setdefault(x.shape[1], [])
    if not pool:
        pool.extend(torch.zeros(8, 500, x.shape[1]).unbind(0))
    return pool.pop().index_add_(0, rows, x)
