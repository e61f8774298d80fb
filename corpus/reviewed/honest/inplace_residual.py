"""Control: right."""
# workload: f(randn(64, 96), randn(64, 96))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, r):
    y = x + r
    return F.layer_norm(y, y.shape[-1:]), y

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, r):
    y = r.clone().add_(x)
    return F.layer_norm(y, y.shape[-1:]), y
