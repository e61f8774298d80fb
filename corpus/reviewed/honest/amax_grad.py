"""Amax grad."""
# workload: f(randn(96, 300, requires_grad=True))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.amax(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.max(1).values
