"""Channels last."""
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
        y = self.conv(x.contiguous(memory_format=torch.channels_last))
        return F.relu(self.bn(y)).contiguous()


def get_inputs():
    return [torch.randn(2, 8, 12, 14)]


def get_init_inputs():
    return [8, 16]
