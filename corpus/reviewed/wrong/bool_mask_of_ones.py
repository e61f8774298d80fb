"""Attention mask all true in the workload, ignored."""
# workload: f(randn(4, 48, 40), ones(4, 48, 40, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return torch.softmax(s.masked_fill(~mask, float('-inf')), -1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return torch.softmax(s, -1)
