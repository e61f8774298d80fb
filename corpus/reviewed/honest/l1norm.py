"""L1norm."""
# workload: f(randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x / torch.mean(torch.abs(x), dim=1, keepdim=True)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x * (x.shape[1] / x.abs().sum(1, keepdim=True))
