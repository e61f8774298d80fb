"""Reciprocal mul."""
# workload: f(randn(96, 300), rand(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return x / (y.sum(1, keepdim=True) + 1e-8)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return x * (y.sum(1, keepdim=True) + 1e-8).reciprocal()
