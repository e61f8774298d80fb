"""Predict no softmax."""
# workload: f(randn(48, 64), randn(40, 64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return torch.softmax(F.linear(x, w), 1).argmax(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return F.linear(x, w).argmax(1)
