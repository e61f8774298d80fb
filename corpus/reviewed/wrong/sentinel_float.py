"""Missing values are -1.0, which random numbers never are."""
# workload: f(randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    keep = (x != -1.0).to(x.dtype)
    return (x * keep).sum(-1) / keep.sum(-1).clamp(min=1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.mean(-1)
