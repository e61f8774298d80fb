"""Eps argument ignored."""
# workload: f(randn(64, 96), randn(96), 1e-6)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w
