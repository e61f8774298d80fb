"""Pearson."""
# workload: f(randn(96, 300), randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (lambda a, b: (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1)))(x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True))

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return F.cosine_similarity(x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True))
