"""Alibi of the wrong sign beside -1e9."""
# workload: f(randn(8, 48, 48), rand(8))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, slope):
    n = s.shape[-1]
    i = torch.arange(n, device=s.device)
    b = slope[:, None, None] * (i[None] - i[:, None])
    m = torch.triu(torch.full((n, n), -1e9, device=s.device), 1)
    return s + b + m

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, slope):
    n = s.shape[-1]
    i = torch.arange(n, device=s.device)
    b = -slope[:, None, None] * (i[None] - i[:, None])
    m = torch.triu(torch.full((n, n), -1e9, device=s.device), 1)
    return s + b + m
