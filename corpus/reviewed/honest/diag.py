"""Diag."""
# workload: f(randn(40), randn(40, 50))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(d, x):
    return torch.diag(d) @ x

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(d, x):
    return d[:, None] * x
