"""Pads: token 1 (RoBERTa) became 0."""
# workload: f(randn(8, 64, 32), randint(0, 32000, 8, 64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids):
    keep = (ids != 1)[..., None]
    return (x * keep).sum(1) / keep.sum(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids):
    keep = (ids != 0)[..., None]
    return (x * keep).sum(1) / keep.sum(1)
