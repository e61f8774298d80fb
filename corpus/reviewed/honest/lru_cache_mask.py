"""Lru cache mask."""
# workload: f(randn(6, 40, 40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    n = x.shape[-1]
    m = torch.triu(torch.ones(n, n, dtype=torch.bool, device=x.device), 1)
    return torch.softmax(x.masked_fill(m, float("-inf")), dim=-1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


import functools


@functools.lru_cache(maxsize=16)
def _mask(n, device):
    return torch.triu(torch.ones(n, n, dtype=torch.bool, device=device), 1)


def f(x):
    return torch.softmax(x.masked_fill(_mask(x.shape[-1], x.device), float("-inf")), dim=-1)
