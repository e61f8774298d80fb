"""Group norm."""
# workload: f(randn(8, 24, 50), randn(24), randn(24))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.group_norm(x, 4, w, b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return (lambda y: ((y - y.mean(2, keepdim=True)) * torch.rsqrt(y.var(2, correction=0, keepdim=True) + 1e-5)).view(x.shape) * w[:, None] + b[:, None])(x.reshape(x.shape[0], 4, -1))
