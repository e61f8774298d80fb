"""Sign of projection."""
# workload: f(randn(48, 64), randn(64, 40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return (x @ w) > 0

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return torch.einsum('ik,kj->ij', x, w).gt(0)
