"""Bf16 chain."""
# workload: f(randn(96, 300, dtype=bfloat16), randn(96, 300, dtype=bfloat16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return torch.sigmoid(x * 2 + y) * x - y

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (lambda a, b: (torch.sigmoid(a * 2 + b) * a - b).to(x.dtype))(x.float(), y.float())
