"""Outer sum."""
# workload: f(randn(96, 20), randn(96, 30))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (x[:, :, None] * y[:, None, :]).sum(0)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return x.t() @ y
