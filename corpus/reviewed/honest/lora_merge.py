"""Lora merge."""
# workload: f(randn(48, 64), randn(64, 40), randn(64, 4), randn(4, 40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, a, b):
    return x @ w + (x @ a) @ b * 2.0

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, a, b):
    return x @ torch.addmm(w, a, b, alpha=2.0)
