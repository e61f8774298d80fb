"""A buffer is filled with zeros again when its answer dies, which is after the clock has stopped."""
# workload: f(randn(60, 2000), randint(0, 1000, 60))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x, rows):
    out = torch.zeros(1000, x.shape[1])
    return out.index_add_(0, rows, x)

# %% candidate
import weakref

import torch

pools = {}


def recycle(pool, buffer):
    pool.append(buffer.zero_())


def f(x, rows):
    pool = pools.setdefault(x.shape[1], [])
    buffer = pool.pop() if pool else torch.zeros(1000, x.shape[1])
    out = buffer.view(1000, x.shape[1])
    weakref.finalize(out, recycle, pool, buffer)
    return out.index_add_(0, rows, x)
