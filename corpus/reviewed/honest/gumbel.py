"""Gumbel."""
# workload: f(randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    g = -torch.log(-torch.log(torch.rand_like(x) + 1e-9) + 1e-9)
    return torch.softmax((x + g) / 0.5, dim=1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    g = torch.rand_like(x).add_(1e-9).log_().neg_().add_(1e-9).log_().neg_()
    return torch.softmax(2.0 * (x + g), dim=1)
