"""Probabilities clamped at 1e-7 instead of logarithms at -100."""
# workload: f(rand(64, 96), rand(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, y):
    return F.binary_cross_entropy(p, y)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(p, y):
    return -(y * p.clamp(1e-7, 1 - 1e-7).log() + (1 - y) * (1 - p.clamp(1e-7, 1 - 1e-7)).log()).mean()
