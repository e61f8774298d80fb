"""Rows computed by a pool of threads that the call waits for."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
from concurrent.futures import ThreadPoolExecutor

import torch


def part(x):
    return torch.softmax(x, dim=1)


def f(x):
    with ThreadPoolExecutor(2) as pool:
        return torch.cat(list(pool.map(part, x.split(max(1, len(x) // 2)))))
