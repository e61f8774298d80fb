"""A mask."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return (x > 0) & (x < 1)

# %% candidate
import torch


def f(x):
    return ~((x <= 0) | (x >= 1))
