"""Einsum layout."""
# workload: f(randn(6, 20, 30), randn(6, 30, 24))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, b):
    return torch.matmul(a, b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(a, b):
    return torch.einsum('bij,bjk->bik', a, b)
