"""Cosine."""
# workload: f(randn(96, 300), randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return F.cosine_similarity(x, y, dim=1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (x * y).sum(1) / (x.norm(dim=1).clamp_min(1e-8) * y.norm(dim=1).clamp_min(1e-8))
