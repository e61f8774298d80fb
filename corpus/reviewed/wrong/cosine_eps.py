"""Eps added to the product."""
# workload: f(randn(64, 96), randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(a, b):
    return F.cosine_similarity(a, b, dim=-1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(a, b):
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1) + 1e-8)
