"""Qk bias grad."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.scale = d ** -0.5

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1) @ v


def get_inputs():
    return [torch.randn(4, 20, 32)]


def get_init_inputs():
    return [32]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.scale = d ** -0.5

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v, scale=self.scale)


def get_inputs():
    return [torch.randn(4, 20, 32)]


def get_init_inputs():
    return [32]
