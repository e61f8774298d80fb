"""Relu square grad."""
# workload: f(randn(48, 64, requires_grad=True), randn(64, 40, requires_grad=True))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return F.relu(x @ w).square().sum(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return (lambda h: (h * h).sum(1))((x @ w).clamp(min=0))
