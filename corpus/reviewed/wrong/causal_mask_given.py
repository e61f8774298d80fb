"""Mask of ones dropped."""
# workload: f(randn(2, 4, 48, 32), randn(2, 4, 48, 32), randn(2, 4, 48, 32), ones(48, 48, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, is_causal=False)
