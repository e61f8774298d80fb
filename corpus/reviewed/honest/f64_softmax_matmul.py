"""F64 softmax matmul."""
# workload: f(randn(48, 64, dtype=float64), randn(64, 40, dtype=float64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return torch.softmax(x @ w, 1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return torch.softmax(torch.cat([r @ w for r in x.split(8)]), 1)
