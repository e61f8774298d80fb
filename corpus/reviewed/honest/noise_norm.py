"""Noise norm."""
# workload: f(randn(96, 300), randn(300), randn(300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    x = x + 0.1 * torch.randn_like(x)
    return F.layer_norm(x, (300,), w, b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    x = torch.add(x, torch.randn_like(x), alpha=0.1)
    c = x - x.mean(1, keepdim=True)
    return c * torch.rsqrt(c.square().mean(1, keepdim=True) + 1e-5) * w + b
