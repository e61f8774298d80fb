"""Squeeze() drops every axis of one."""
# workload: f(randn(32, 48, 64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.mean(1, keepdim=True).squeeze(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.mean(1, keepdim=True).squeeze()
