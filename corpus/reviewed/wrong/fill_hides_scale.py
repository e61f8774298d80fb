"""Scores beside fills of -1e9: the scale is dropped."""
# workload: f(randn(4, 48, 32), randn(4, 40, 32), randint(0, 2, 4, 48, 40, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, mask):
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return s.masked_fill(mask, -1e9)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, mask):
    s = q @ k.transpose(-1, -2)
    return s.masked_fill(mask, -1e9)
