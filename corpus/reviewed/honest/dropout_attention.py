"""Dropout attention."""
# workload: f(randn(2, 4, 33, 16), randn(2, 4, 33, 16), randn(2, 4, 33, 16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(q, k, v):
    a = torch.softmax(q @ k.transpose(-1, -2) * 0.25, dim=-1)
    return F.dropout(a, 0.1, True) @ v

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(q, k, v):
    a = torch.softmax((q * 0.25) @ k.transpose(-1, -2), dim=-1)
    return F.dropout(a, 0.1, True, inplace=True) @ v
