"""Bn training."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1)
        self.bn = nn.BatchNorm2d(o)

    def forward(self, x):
        return self.bn(self.conv(x))


def get_inputs():
    return [torch.randn(2, 8, 12, 14)]


def get_init_inputs():
    return [8, 16]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1)
        self.bn = nn.BatchNorm2d(o)

    def forward(self, x):
        y = self.conv(x)
        m = y.mean((0, 2, 3))
        v = y.var((0, 2, 3), correction=0)
        n = y.numel() // y.shape[1]
        with torch.no_grad():
            self.bn.running_mean.mul_(0.9).add_(m, alpha=0.1)
            self.bn.running_var.mul_(0.9).add_(v * (n / (n - 1)), alpha=0.1)
            self.bn.num_batches_tracked += 1
        s = self.bn.weight * torch.rsqrt(v + self.bn.eps)
        return (y - m[:, None, None]) * s[:, None, None] + self.bn.bias[:, None, None]


def get_inputs():
    return [torch.randn(2, 8, 12, 14)]


def get_init_inputs():
    return [8, 16]
