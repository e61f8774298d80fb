"""Duplicates lost, indices of the workload have none."""
# workload: f(arange(64), randn(64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(ids, w):
    out = torch.zeros(64, device=w.device)
    return out.scatter_add_(0, ids, w)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(ids, w):
    out = torch.zeros(64, device=w.device)
    return out.index_put_((ids,), w)
