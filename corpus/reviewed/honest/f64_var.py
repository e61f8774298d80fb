"""F64 var."""
# workload: f(randn(96, 300, dtype=float64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.var(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (x - x.mean(1, keepdim=True)).square().sum(1) / (x.shape[1] - 1)
