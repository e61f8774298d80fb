"""Dropout in eval mode does nothing and is left out."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.3)
        self.eval()

    def forward(self, x):
        return self.dropout(torch.relu(self.linear(x)))


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.3)
        self.eval()

    def forward(self, x):
        return self.linear(x).clamp(min=0)


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]
