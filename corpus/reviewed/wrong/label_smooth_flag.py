"""Keyword ignored that no line gives."""
# workload: f(randn(64, 96), randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y, reduction='mean'):
    return F.mse_loss(x, y, reduction=reduction)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y, reduction='mean'):
    return (x - y).square().mean()
