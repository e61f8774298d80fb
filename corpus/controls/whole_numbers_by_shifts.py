"""Multiplies whole numbers by shifts."""
# workload: f(randint(0, 100, 64, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    return x * 3 - 1

# %% candidate
import torch


def f(x):
    return (x << 1) + x - 1
