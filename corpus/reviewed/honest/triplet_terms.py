"""Triplet terms."""
# workload: f(randn(64, 32), randn(64, 32), randn(64, 32))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, p, n):
    return ((a - p).pow(2).sum(1) - (a - n).pow(2).sum(1)).mean()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, p, n):
    return ((n - p) * (2 * a - n - p)).sum(1).mean()
