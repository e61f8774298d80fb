"""The baseline returns a view, the rewrite a contiguous tensor of the same values."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return (x + 1).t()

# %% candidate
import torch


def f(x):
    return x.t().contiguous() + 1
