"""Onehot embed."""
# workload: f(randint(0, 40, 64), randn(40, 24))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(i, t):
    return F.one_hot(i, 40).float() @ t

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(i, t):
    return t[i]
