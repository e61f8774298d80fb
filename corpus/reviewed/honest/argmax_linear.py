"""Argmax linear."""
# workload: f(randn(48, 64), randn(40, 64), randn(40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.linear(x, w, b).argmax(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return torch.addmm(b, x, w.t()).max(1).indices
