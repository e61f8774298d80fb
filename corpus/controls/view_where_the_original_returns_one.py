"""The baseline returns a view of its input."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.transpose(0, 1)[1:]

# %% candidate
import torch


def f(x):
    return x[:, 1:].t()
