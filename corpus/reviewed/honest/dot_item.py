"""Dot item."""
# workload: f(randn(96, 300), randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (x * y).sum().item()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return torch.einsum('ij,ij->', x, y).item()
