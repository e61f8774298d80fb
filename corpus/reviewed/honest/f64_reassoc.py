"""F64 reassoc."""
# workload: f(randn(48, 64, dtype=float64), randn(64, 40, dtype=float64), randn(40, 8, dtype=float64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, v):
    return (x @ w) @ v

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, v):
    return x @ (w @ v)
