"""Noise gram."""
# workload: f(randn(48, 32), randn(32, 40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    x = x + 0.1 * torch.randn_like(x)
    h = x @ w
    return h.pow(3).sum(1) / h.pow(2).sum(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    h = torch.add(x, torch.randn_like(x), alpha=0.1) @ w
    q = h * h
    return (q * h).sum(1) / q.sum(1)
