"""Norm affine var."""
# workload: f(randn(96, 300), randn(300), randn(300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.layer_norm(x, (300,), w, b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return (x - x.mean(1, keepdim=True)) * torch.rsqrt(x.var(1, correction=0, keepdim=True) + 1e-5) * w + b
