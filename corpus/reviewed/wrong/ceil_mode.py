"""Odd sizes are never tried, 14 is below 16."""
# workload: f(randn(8, 32, 14, 14))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.max_pool2d(x, 2, ceil_mode=True)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.max_pool2d(x, 2, ceil_mode=False)
