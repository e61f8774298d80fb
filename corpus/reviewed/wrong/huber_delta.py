"""Smooth l1 is huber / delta."""
# workload: f(randn(64, 96), randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y):
    return F.huber_loss(x, y, delta=2.0)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y):
    return F.smooth_l1_loss(x, y, beta=2.0)
