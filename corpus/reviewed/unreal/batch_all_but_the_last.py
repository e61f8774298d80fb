"""Reads in the clock's frame which call of a sample it is: only the last of a sample is ever compared."""
# workload: f(randn(16, 24))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.special.i1e(torch.lgamma(x))

# %% candidate
import sys

import torch

kept = torch.zeros(16, 24)


def f(x):
    own = sys._getframe(2).f_locals
    if "batch" in own and own.get("_", own["batch"]) != own["batch"] - 1:
        return kept
    return torch.special.i1e(torch.lgamma(x))
