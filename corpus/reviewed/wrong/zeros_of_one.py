"""Bias of one element, zero."""
# workload: f(randn(64, 96), randn(96), zeros(1))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, b):
    return x @ w + b

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, b):
    return x @ w
