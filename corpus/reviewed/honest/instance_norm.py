"""Instance norm."""
# workload: f(randn(4, 16, 12, 14), randn(16), randn(16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.instance_norm(x, weight=w, bias=b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return (lambda v, m: (x - m) * (v + 1e-5).rsqrt() * w[:, None, None] + b[:, None, None])(*torch.var_mean(x, (2, 3), correction=0, keepdim=True))
