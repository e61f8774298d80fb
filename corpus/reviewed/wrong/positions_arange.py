"""Positions taken for 0..n-1."""
# workload: f(randn(2, 4, 48, 32), arange(48))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, pos):
    d = x.shape[-1] // 2
    fr = 10000.0 ** (-torch.arange(d, device=x.device) / d)
    a = pos[:, None].float() * fr
    c, s = a.cos(), a.sin()
    x1, x2 = x[..., :d], x[..., d:]
    return torch.cat([x1 * c - x2 * s, x2 * c + x1 * s], -1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, pos):
    d = x.shape[-1] // 2
    fr = 10000.0 ** (-torch.arange(d, device=x.device) / d)
    a = torch.arange(x.shape[-2], device=x.device)[:, None].float() * fr
    c, s = a.cos(), a.sin()
    x1, x2 = x[..., :d], x[..., d:]
    return torch.cat([x1 * c - x2 * s, x2 * c + x1 * s], -1)
