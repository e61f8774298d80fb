"""Causal with fewer queries than keys; three sizes in the line."""
# workload: f(randn(2, 16, 48, 24), randn(2, 16, 48, 24), randn(2, 16, 48, 24))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v):
    m, n = q.shape[-2], k.shape[-2]
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    keep = torch.ones(m, n, dtype=torch.bool, device=q.device).tril(n - m)
    return torch.softmax(s.masked_fill(~keep, float('-inf')), -1) @ v

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v):
    m, n = q.shape[-2], k.shape[-2]
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    keep = torch.ones(m, n, dtype=torch.bool, device=q.device).tril()
    return torch.softmax(s.masked_fill(~keep, float('-inf')), -1) @ v
