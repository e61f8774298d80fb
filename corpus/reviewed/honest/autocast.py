"""Autocast."""
# workload: f(randn(48, 64), randn(40, 64), randn(40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = F.linear(x, w, b)
    return F.gelu(y.float())

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    y = F.linear(x.bfloat16().float(), w.bfloat16().float(), b.bfloat16().float())
    return F.gelu(y)
