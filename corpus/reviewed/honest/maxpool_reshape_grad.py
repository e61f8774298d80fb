"""Maxpool reshape grad."""
# workload: f(randn(6, 8, 64, requires_grad=True))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return F.max_pool1d(x, 4)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.unflatten(2, (-1, 4)).amax(3) if x.shape[2] % 4 == 0 else F.max_pool1d(x, 4)
