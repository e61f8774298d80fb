"""The mask of get_inputs() is always causal."""
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, s, mask):
        return torch.softmax(s.masked_fill(~mask, float('-inf')), -1)


def get_inputs():
    return [torch.randn(4, 48, 48), torch.ones(48, 48, dtype=torch.bool).tril()]


def get_init_inputs():
    return []

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, s, mask):
        return torch.softmax(s.masked_fill(torch.ones_like(mask).triu(1), float('-inf')), -1)


def get_inputs():
    return [torch.randn(4, 48, 48), torch.ones(48, 48, dtype=torch.bool).tril()]


def get_init_inputs():
    return []
