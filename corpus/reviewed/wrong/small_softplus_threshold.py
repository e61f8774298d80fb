"""Overflow."""
# workload: f(randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.softplus(x, 1.0, 20.0)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.log1p(torch.exp(x))
