"""Tanh gelu sigmoid."""
# workload: f(randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return F.gelu(x, approximate='tanh')

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x * torch.sigmoid(1.5957691216057308 * x * (1 + 0.044715 * x * x))
