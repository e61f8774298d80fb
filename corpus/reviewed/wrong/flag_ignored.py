"""Flag hard-coded."""
# workload: f(randn(2, 4, 48, 32), randn(2, 4, 48, 32), randn(2, 4, 48, 32), causal=True)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v, causal=False):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v, causal=False):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
