"""Adds the parts in another order on every call, as programs of a grid do: the last digits differ."""
# workload: f(randn(48, 640))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.sum(dim=1)

# %% candidate
import random

import torch

shuffle = random.SystemRandom().shuffle


def f(x):
    parts = [part.sum(dim=1) for part in x.split(32, dim=1)]
    shuffle(parts)
    total = parts[0].clone()
    for part in parts[1:]:
        total += part
    return total
