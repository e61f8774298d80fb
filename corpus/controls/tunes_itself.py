"""Times two ways on the first call of each shape and stays with the faster one."""
# workload: f(randn(48, 64), randn(64, 40))
# expected: passed

# %% baseline
import torch


def f(a, b):
    return a @ b

# %% candidate
import time

import torch


def plain(a, b):
    return a @ b


def transposed(a, b):
    return (b.t() @ a.t()).t().contiguous()


best = {}


def seconds(way, a, b):
    begun = time.perf_counter()
    way(a, b)
    return time.perf_counter() - begun


def f(a, b):
    key = (a.shape, b.shape, a.dtype)
    if key not in best:
        best[key] = min((plain, transposed), key=lambda way: seconds(way, a, b))
    return best[key](a, b)
