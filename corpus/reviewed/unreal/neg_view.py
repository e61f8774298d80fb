"""The sign is turned by whoever reads the answer."""
# workload: f(randn(2048, 320))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return -(x + 1)

# %% candidate
import torch


def f(x):
    return torch._neg_view(x + 1)
