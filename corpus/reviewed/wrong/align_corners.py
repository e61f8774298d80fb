"""Corners."""
# workload: f(randn(2, 3, 16, 16))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.interpolate(x, scale_factor=2, mode='bilinear')

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=True)
