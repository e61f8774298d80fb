"""Argmin distances."""
# workload: f(randn(48, 16), randn(40, 16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, c):
    return torch.stack([((r - c) ** 2).sum(1) for r in x]).argmin(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, c):
    return torch.cdist(x, c, compute_mode='donot_use_mm_for_euclid_dist').argmin(1)
