"""Gradient of rows of zeros is NaN."""
# workload: f(randn(64, 96, requires_grad=True))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x / x.norm(dim=-1, keepdim=True).clamp(min=1e-12)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x / x.square().sum(-1, keepdim=True).sqrt().clamp(min=1e-12)
