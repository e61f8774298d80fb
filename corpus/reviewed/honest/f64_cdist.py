"""F64 cdist."""
# workload: f(randn(40, 24, dtype=float64), randn(36, 24, dtype=float64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (x[:, None] - y[None]).pow(2).sum(-1).mul(-0.5).exp()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return torch.exp(torch.stack([(r - y).square().sum(1) for r in x]) * -0.5)
