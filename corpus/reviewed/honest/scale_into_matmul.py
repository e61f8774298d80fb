"""Scale into matmul."""
# workload: f(randn(48, 64), randn(64, 40), randn(40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return (x @ w) * 0.125 + b

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return torch.addmm(b, x, w, alpha=0.125)
