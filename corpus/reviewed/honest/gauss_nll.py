"""Gauss nll."""
# workload: f(randn(64, 20), randn(64, 20), randn(64, 20))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(m, s, y):
    return (0.5 * (y - m) ** 2 * torch.exp(-s) + 0.5 * s).mean()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(m, s, y):
    return 0.5 * torch.mean((y - m).square() / s.exp() + s)
