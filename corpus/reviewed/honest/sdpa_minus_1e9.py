"""Sdpa minus 1e9."""
# workload: f(randn(2, 4, 33, 16), randn(2, 4, 33, 16), randn(2, 4, 33, 16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(q, k, v):
    n = q.shape[2]
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    m = torch.tril(torch.ones(n, n, device=q.device))
    return torch.softmax(s.masked_fill(m == 0, -1e9), dim=-1) @ v

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
