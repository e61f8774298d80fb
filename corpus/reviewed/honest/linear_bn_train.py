"""Linear bn train."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)
        self.bn = nn.BatchNorm1d(o)

    def forward(self, x):
        return torch.relu(self.bn(self.lin(x)))


def get_inputs():
    return [torch.randn(64, 24)]


def get_init_inputs():
    return [24, 16]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)
        self.bn = nn.BatchNorm1d(o)

    def forward(self, x):
        return F.relu(self.bn(torch.addmm(self.lin.bias, x, self.lin.weight.t())), inplace=True)


def get_inputs():
    return [torch.randn(64, 24)]


def get_init_inputs():
    return [24, 16]
