"""Topk bool mask."""
# workload: f(randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x >= torch.topk(x, 5, dim=1).values[:, -1:]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x >= x.sort(1, descending=True).values[:, 4:5]
