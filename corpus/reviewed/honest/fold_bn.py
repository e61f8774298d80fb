"""Fold bn."""
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
        self.eval()

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


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
        self.eval()

    def forward(self, x):
        s = self.bn.weight * torch.rsqrt(self.bn.running_var + self.bn.eps)
        w = self.conv.weight * s.view(-1, 1, 1, 1)
        b = (self.conv.bias - self.bn.running_mean) * s + self.bn.bias
        return F.conv2d(x, w, b, padding=1).relu_()


def get_inputs():
    return [torch.randn(2, 8, 12, 14)]


def get_init_inputs():
    return [8, 16]
