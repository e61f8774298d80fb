"""Optional arguments dropped."""
# workload: f(randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w=None, b=None):
    return F.layer_norm(x, x.shape[-1:], w, b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w=None, b=None):
    return F.layer_norm(x, x.shape[-1:])
