"""Decay matrix."""
# workload: f(randn(32, 200))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    n = x.shape[1]
    mask = torch.tril(torch.ones(n, n))
    return torch.exp(0.1 * (x @ mask.t()))

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.exp(0.1 * x.cumsum(1))
