"""Pooling of the last token, all lengths full and below 16."""
# workload: f(randn(4, 12, 64), full((4,), 12, dtype=int64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return x[torch.arange(x.shape[0], device=x.device), n - 1]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return x[:, -1].clone()
