"""The sum over a linear layer's outputs as one product with the summed weight."""
# workload: f(randn(40, 48), randn(36, 48), randn(36))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w, b):
    return F.linear(x, w, b).sum(dim=1)

# %% candidate
import torch


def f(x, w, b):
    return x @ w.sum(dim=0) + b.sum()
