"""Bf16 running sum."""
# workload: f(randn(96, 300, dtype=bfloat16))
# workload: f(rand(96, 300, dtype=bfloat16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    total = torch.zeros_like(x[:, 0])
    for i in range(x.shape[1]):
        total = total + x[:, i]
    return total

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.float().sum(1).to(x.dtype)
