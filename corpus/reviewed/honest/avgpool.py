"""Avgpool."""
# workload: f(randn(4, 16, 12, 14))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return F.avg_pool2d(x, 2)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).mean((3, 5)) if x.shape[2] % 2 == x.shape[3] % 2 == 0 else F.avg_pool2d(x, 2)
