"""Adaptive only for multiples."""
# workload: f(randn(8, 32, 14, 14))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.adaptive_avg_pool2d(x, 7)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return F.avg_pool2d(x, x.shape[-1] // 7)
