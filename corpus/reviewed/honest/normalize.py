"""Normalize."""
# workload: f(randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return F.normalize(x, dim=1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x * torch.rsqrt((x * x).sum(1, keepdim=True).clamp_min(1e-24))
