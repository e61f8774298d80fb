"""Pairs interleaved."""
# workload: f(randn(2, 4, 48, 32), randn(48, 16), randn(48, 16))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, c, s):
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, c, s):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.cat([a * c - b * s, b * c + a * s], -1)
