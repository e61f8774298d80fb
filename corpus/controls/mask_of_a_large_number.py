"""Causal attention by a mask of -1e9, for which PyTorch's own has -inf."""
# workload: f(randn(2, 4, 33, 16), randn(2, 4, 33, 16), randn(2, 4, 33, 16))
# expected: passed

# %% baseline
import torch


def f(q, k, v):
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    m = torch.tril(torch.ones(s.shape[-2:], device=q.device))
    return torch.softmax(s.masked_fill(m == 0, -1e9), dim=-1) @ v

# %% candidate
import torch
import torch.nn.functional as F


def f(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
