"""Global pool conv1x1."""
# workload: f(randn(4, 16, 12, 14), randn(20, 16, 1, 1), randn(20))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.conv2d(x, w, b).mean((2, 3))

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.linear(x.mean((2, 3)), w[:, :, 0, 0], b)
