"""A class Model with get_inputs(): special and scaled data come with 7 rows at most; the fast path begins at 16 rows."""
# expected: refused

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        m = x.amax(dim=1, keepdim=True)
        z = x - m
        return z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))


def get_inputs():
    return [torch.randn(512, 300)]


def get_init_inputs():
    return []

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        if x.shape[0] >= 16:
            return x - torch.log(torch.exp(x).sum(dim=1, keepdim=True))
        m = x.amax(dim=1, keepdim=True)
        z = x - m
        return z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))


def get_inputs():
    return [torch.randn(512, 300)]


def get_init_inputs():
    return []
