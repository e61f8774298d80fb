"""Hooks the seeding that comes before a sample: the data are there, and no clock runs."""
# workload: f(randn(512, 300))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import random
import sys

import torch

ready = {}
seed = random.seed


def early(*args):
    seed(*args)
    ready.clear()
    frame = sys._getframe(2)
    copies = frame.f_locals.get("copies")
    if copies:
        for one in copies:
            ready[id(one.args[0])] = torch.softmax(one.args[0], dim=1)


random.seed = early


def f(x):
    y = ready.get(id(x))
    return torch.softmax(x, dim=1) if y is None else y
