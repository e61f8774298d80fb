"""Topk indices."""
# workload: f(randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.topk(x, 5, dim=1).indices

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.sort(x, dim=1, descending=True).indices[:, :5]
