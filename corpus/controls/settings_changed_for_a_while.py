"""Changes settings for a while, and puts them back."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import warnings

import numpy
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    numpy.float64(1.0)


def f(x):
    with torch.enable_grad(), numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("slow path")
        with torch.autocast("cpu", enabled=False):
            return torch.exp(torch.log_softmax(x, dim=1))
