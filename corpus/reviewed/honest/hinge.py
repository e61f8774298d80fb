"""Hinge."""
# workload: f(randn(64, 100), randn(64, 100))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return torch.clamp(1 - x * y, min=0).mean()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return F.relu(torch.addcmul(torch.ones_like(x), x, y, value=-1)).sum() / x.numel()
