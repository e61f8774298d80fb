"""Dct matrix."""
# workload: f(randn(64, 100))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    n = x.shape[1]
    k = torch.arange(n, dtype=torch.get_default_dtype())
    m = torch.cos(math.pi / n * (k[None] + 0.5) * k[:, None])
    y = x @ m.t()
    return torch.log(y * y + 1e-3)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    n = x.shape[1]
    k = torch.arange(n, dtype=torch.get_default_dtype())
    m = torch.cos(math.pi / n * (k[None] + 0.5) * k[:, None])
    return torch.cat([torch.log((p @ m.t()).square_().add_(1e-3)) for p in x.split(8)])
