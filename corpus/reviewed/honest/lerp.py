"""Lerp."""
# workload: f(randn(96, 300), randn(96, 300), rand(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, b, t):
    return a * (1 - t) + b * t

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, b, t):
    return torch.lerp(a, b, t)
