"""Dropout in training draws the same numbers in both."""
# workload: f(randn(256, 400))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x):
    return F.dropout(torch.relu(x), 0.25, training=True) * 2

# %% candidate
import torch
import torch.nn.functional as F


def f(x):
    return F.dropout(x.clamp(min=0) * 2, 0.25, training=True)
