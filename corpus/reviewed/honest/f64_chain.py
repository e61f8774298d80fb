"""F64 chain."""
# workload: f(randn(48, 64, dtype=float64), randn(64, 40, dtype=float64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return torch.exp(x @ w) / (1 + torch.exp(x @ w))

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return torch.sigmoid(x @ w)
