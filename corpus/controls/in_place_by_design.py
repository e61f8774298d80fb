"""The baseline writes to its input, and so does the rewrite."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.mul_(2).add_(1)

# %% candidate
import torch


def f(x):
    return x.copy_(2 * x + 1)
