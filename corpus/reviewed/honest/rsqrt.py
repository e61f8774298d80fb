"""Rsqrt."""
# workload: f(randn(96, 300), rand(300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, g):
    return x / torch.sqrt(x.pow(2).mean(1, keepdim=True) + 1e-6) * g

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, g):
    return x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6) * g
