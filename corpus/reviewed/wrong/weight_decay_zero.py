"""Weight decay of 0 in the workload, dropped."""
# workload: f(randn(64, 96), randn(64, 96), zeros(64, 96), 0.1, 0.9, 0.0)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, g, m, lr, beta, wd):
    g = g + wd * p
    m = beta * m + g
    return p - lr * m, m

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, g, m, lr, beta, wd):
    m = beta * m + g
    return p - lr * m, m
