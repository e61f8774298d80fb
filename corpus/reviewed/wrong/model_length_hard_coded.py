"""The length is 48 in get_inputs()."""
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return x.mean(1)


def get_inputs():
    return [torch.randn(8, 48, 64)]


def get_init_inputs():
    return []

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return x.sum(1) / 48


def get_inputs():
    return [torch.randn(8, 48, 64)]


def get_init_inputs():
    return []
