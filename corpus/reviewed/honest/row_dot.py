"""Row dot."""
# workload: f(randn(96, 300), randn(96, 300))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (x * y).sum(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return torch.einsum('ij,ij->i', x, y)
