"""Vae."""
# workload: f(randn(48, 32), randn(48, 32), randn(32, 40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(m, s, w):
    z = m + torch.exp(0.5 * s) * torch.randn_like(s)
    h = z @ w
    return torch.exp(h - h.mean(1, keepdim=True))

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(m, s, w):
    z = torch.addcmul(m, torch.exp(0.5 * s), torch.randn_like(s))
    wc = w - w.mean(1, keepdim=True)
    return torch.exp(z @ wc)
