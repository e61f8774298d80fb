"""Var welford."""
# workload: f(randn(12, 20, 30))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.var((1, 2))

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.var_mean(x.flatten(1), 1)[0]
