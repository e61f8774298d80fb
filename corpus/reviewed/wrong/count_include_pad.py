"""Padding not counted."""
# workload: f(randn(4, 8, 32, 32))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.avg_pool2d(x, 3, 2, 1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
