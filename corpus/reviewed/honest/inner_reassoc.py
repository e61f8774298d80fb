"""Inner reassoc."""
# workload: f(randn(48, 64), randn(64, 40), randn(40, 8))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, v):
    return (x @ w) @ v

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, v):
    return x @ (w @ v)
