"""Tables and trials draw from generators of their own, on import and in the call."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import random

import numpy
import torch

table = torch.randn(65, generator=torch.Generator().manual_seed(0))
order = random.Random(0).sample(range(65), 65)
noise = numpy.random.default_rng(0).normal(size=65)


def f(x):
    trial = torch.rand(4, generator=torch.Generator().manual_seed(1))
    return torch.exp(torch.log_softmax(x, dim=1)) + 0 * trial.sum()
