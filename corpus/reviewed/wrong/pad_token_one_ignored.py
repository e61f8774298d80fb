"""Pad token ignored."""
# workload: f(randn(8, 64, 32), randint(0, 32000, 8, 64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids):
    return x.masked_fill((ids == 1)[..., None], 0.0)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids):
    return x.clone()
