"""Linear attention."""
# workload: f(randn(2, 4, 33, 16), randn(2, 4, 33, 16), randn(2, 4, 33, 16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    a = q @ k.transpose(-1, -2)
    return a @ v / (a.sum(-1, keepdim=True) + 1e-6)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    return q @ (k.transpose(-1, -2) @ v) / (q @ k.sum(-2)[..., None] + 1e-6)
