"""Cumsum blocks."""
# workload: f(randn(32, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.cumsum(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (lambda p: (p.cumsum(2) + F.pad(p.sum(2).cumsum(1), (1, 0))[:, :-1, None]).reshape(x.shape[0], -1)[:, :x.shape[1]].contiguous())(F.pad(x, (0, -x.shape[1] % 16)).view(x.shape[0], -1, 16))
