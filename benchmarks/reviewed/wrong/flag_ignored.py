"""Flag hard-coded."""

BASELINE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v, causal=False):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
"""
WORKLOAD = ("f(randn(2, 4, 48, 32), randn(2, 4, 48, 32), randn(2, 4, 48, 32), causal=True)",)
CANDIDATE = """
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v, causal=False):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
"""
