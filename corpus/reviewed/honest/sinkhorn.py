"""Sinkhorn."""
# workload: f(rand(40, 48))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(c):
    k = torch.exp(-c * 5)
    u = torch.ones(c.shape[0])
    for _ in range(20):
        v = 1.0 / (k.t() @ u)
        u = 1.0 / (k @ v)
    return u[:, None] * k * v[None]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(c):
    k = torch.exp(c * -5)
    kt = k.t().contiguous()
    u = torch.ones(c.shape[0])
    for _ in range(20):
        v = torch.mv(kt, u).reciprocal_()
        u = torch.mv(k, v).reciprocal_()
    return torch.einsum("i,ij,j->ij", u, k, v)
