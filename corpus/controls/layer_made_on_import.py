"""Makes a layer on import, whose parameters draw from torch's generator."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch

layer = torch.nn.Linear(4, 4)


def f(x):
    return torch.exp(torch.log_softmax(x, dim=1))
