"""Bf16 inside."""
# workload: f(randn(48, 64), randn(40, 64), randn(40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return torch.relu(F.linear(x.bfloat16(), w.bfloat16()).float() + b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return torch.relu(F.linear(x.bfloat16().float(), w.bfloat16().float(), b))
