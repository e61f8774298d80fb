"""F64 layer norm."""
# workload: f(randn(96, 300, dtype=float64), randn(300, dtype=float64), randn(300, dtype=float64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.layer_norm(x, x.shape[1:], w, b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return (lambda c: c * torch.rsqrt(c.square().mean(1, keepdim=True) + 1e-5) * w + b)(x - x.mean(1, keepdim=True))
