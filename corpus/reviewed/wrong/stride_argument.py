"""Stride hard-coded."""
# workload: f(randn(2, 16, 32, 32), randn(16, 16, 3, 3), 1, 1)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, stride=1, padding=0):
    return F.conv2d(x, w, stride=stride, padding=padding)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, stride=1, padding=0):
    return F.conv2d(x, w, padding=1)
