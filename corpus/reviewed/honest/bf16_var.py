"""Bf16 var."""
# workload: f(randn(96, 300, dtype=bfloat16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return ((x - x.mean(1, keepdim=True)) ** 2).mean(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.float().var(1, correction=0).to(x.dtype)
