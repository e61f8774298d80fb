"""Ddof 0 over the whole tensor."""
# workload: f(randn(512, 512))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.std()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.std(correction=0)
