"""Moe router."""
# workload: f(randn(48, 64), randn(64, 8))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return torch.topk(torch.softmax(x @ w, 1), 2, dim=1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return (lambda z: torch.topk(torch.exp(z - torch.logsumexp(z, 1, keepdim=True)), 2, dim=1))(x @ w)
