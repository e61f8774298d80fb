"""Fully masked rows, the guard lets NaN of the scores through."""
# workload: f(randn(4, 24, 64), randint(0, 2, 4, 24, 64, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, m):
    p = torch.softmax(s.masked_fill(~m, float('-inf')), -1)
    return torch.where(m.any(-1, keepdim=True), p, 0.0)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, m):
    p = torch.softmax(s.masked_fill(~m, float('-inf')), -1)
    return p
