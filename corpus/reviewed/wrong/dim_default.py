"""Dim ignored."""
# workload: f(randn(64, 96), dim=-1)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, dim=-1):
    return torch.softmax(x, dim)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, dim=-1):
    return torch.softmax(x, -1)
