"""Softmax temperature."""
# workload: f(randn(96, 300), 0.07)
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, t):
    return torch.softmax(x / t, dim=1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, t):
    return torch.softmax(x * (1.0 / t), dim=1)
