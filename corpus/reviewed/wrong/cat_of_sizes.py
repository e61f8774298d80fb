"""Parts of different size in one output."""
# workload: f(randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.cat([x, x ** 2, x.exp() * 1e8], -1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.cat([x, x.abs(), x.exp() * 1e8], -1)
