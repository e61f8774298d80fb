"""Only the first of a batch of one."""
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, s, mask):
        return torch.softmax(s.masked_fill(~mask, float('-inf')), -1)


def get_inputs():
    return [torch.randn(1, 48, 48), torch.ones(48, 48, dtype=torch.bool).tril()]


def get_init_inputs():
    return []

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, s, mask):
        return torch.softmax(s[0].masked_fill(~mask, float('-inf')), -1)[None]


def get_inputs():
    return [torch.randn(1, 48, 48), torch.ones(48, 48, dtype=torch.bool).tril()]


def get_init_inputs():
    return []
