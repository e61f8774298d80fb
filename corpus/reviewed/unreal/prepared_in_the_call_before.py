"""A short call is made once untimed right before a sample: there it looks up the stack for the data of the sample."""
# workload: f(randn(128, 300))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import sys

import torch

ready = {}


def f(x):
    y = ready.get(id(x))
    if y is not None:
        return y
    frame = sys._getframe(1)
    if frame.f_code.co_name == "arm":
        ready.clear()
        for one in frame.f_locals["copies"]:
            ready[id(one.args[0])] = torch.softmax(one.args[0], dim=1)
        return x
    return torch.softmax(x, dim=1)
