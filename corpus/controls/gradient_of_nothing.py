"""Attention that trains: the gradient of its keys' bias is zero, and what comes out of it rounding errors."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import math


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v


def get_inputs():
    return [torch.randn(4, 20, 32)]


def get_init_inputs():
    return [32]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return F.scaled_dot_product_attention(q, k, v)


def get_inputs():
    return [torch.randn(4, 20, 32)]


def get_init_inputs():
    return [32]
