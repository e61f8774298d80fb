"""The variance of equal numbers in float64: nothing, or what one rounding leaves."""
# workload: f(randn(96, 300, dtype=float64))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.var(1)

# %% candidate
import torch


def f(x):
    return (x - x.mean(1, keepdim=True)).square().sum(1) / (x.shape[1] - 1)
