"""Module mha."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class Model(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.o = nn.Linear(d, d)
        self.drop = nn.Dropout(0.1)
        self.eval()

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (p(x).view(b, n, self.h, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        s = q @ k.transpose(-2, -1) / (d // self.h) ** 0.5
        y = self.drop(torch.softmax(s, dim=-1)) @ v
        return self.o(y.transpose(1, 2).reshape(b, n, d))


def get_inputs():
    return [torch.randn(4, 20, 32)]


def get_init_inputs():
    return [32, 4]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


class Model(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.o = nn.Linear(d, d)
        self.drop = nn.Dropout(0.1)
        self.eval()

    def forward(self, x):
        b, n, d = x.shape
        w = torch.cat([self.q.weight, self.k.weight, self.v.weight])
        c = torch.cat([self.q.bias, self.k.bias, self.v.bias])
        q, k, v = F.linear(x, w, c).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.transpose(1, 2).reshape(b, n, d))


def get_inputs():
    return [torch.randn(4, 20, 32)]


def get_init_inputs():
    return [32, 4]
