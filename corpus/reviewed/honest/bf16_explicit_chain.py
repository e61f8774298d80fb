"""Bf16 explicit chain."""
# workload: f(randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (torch.tanh((x.bfloat16() * 2 + 1) * x.bfloat16()) - x.bfloat16() + 0.5) * 3

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return ((torch.tanh((x.bfloat16().float() * 2 + 1) * x.bfloat16().float()) - x.bfloat16().float() + 0.5) * 3).bfloat16()
