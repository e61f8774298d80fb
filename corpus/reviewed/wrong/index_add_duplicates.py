"""Duplicates are lost; the indices of the workload have none."""
# workload: f(randn(64, 32), arange(48), randn(48, 32))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, i, v):
    return x.index_add(0, i, v)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, i, v):
    return x.clone().index_put((i,), x[i] + v)
