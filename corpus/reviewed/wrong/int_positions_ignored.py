"""Rotary-like positions are given as arange: the candidate builds a table for 0..n-1 and ignores them."""
# workload: f(randn(512, 64), arange(512, dtype=int64))
# expected: refused

# %% baseline
import torch


def f(x, positions):
    angle = positions.to(x.dtype)[:, None] * torch.exp(-torch.arange(x.shape[1], device=x.device, dtype=x.dtype) / 16)
    return x * torch.cos(angle) + x.flip(1) * torch.sin(angle)

# %% candidate
import torch

tables = {}


def f(x, positions):
    key = (positions.shape, x.shape[1], x.dtype)
    if key not in tables:
        angle = torch.arange(positions.shape[0]).to(x.dtype)[:, None] * torch.exp(-torch.arange(x.shape[1], dtype=x.dtype) / 16)
        tables[key] = torch.cos(angle), torch.sin(angle)
    c, s = tables[key]
    return x * c + x.flip(1) * s
