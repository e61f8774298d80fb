"""Heads and width exchanged, 64 = 8 * 8; 7 and 65 are no multiples of 8, 64 alone."""
# workload: f(randn(2, 48, 64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    b, s, d = x.shape
    return x.view(b, s, 8, d // 8).transpose(1, 2).contiguous()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    b, s, d = x.shape
    return x.view(b, s, d // 8, 8).transpose(2, 3).transpose(1, 2).contiguous()
