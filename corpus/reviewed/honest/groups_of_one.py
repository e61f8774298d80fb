"""Control: right."""
# workload: f(randn(4, 32, 14, 14), randn(32), randn(32))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, b):
    return F.group_norm(x, 1, w, b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, b):
    return F.layer_norm(x, x.shape[1:]) * w[:, None, None] + b[:, None, None]
