"""Means of segments given by ids, by scatter_add."""
# workload: f(randn(300, 16), randint(0, 9, 300))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, ids):
    s = x.new_zeros(9, x.shape[1]).index_add(0, ids, x)
    n = torch.bincount(ids, minlength=9).clamp(min=1)
    return s / n[:, None]

# %% candidate
import torch
import torch.nn.functional as F


def f(x, ids):
    n = torch.ones_like(x[:, 0]).new_zeros(9).index_add(0, ids, torch.ones_like(x[:, 0])).clamp(min=1)
    s = x.new_zeros(9, x.shape[1]).scatter_add(0, ids[:, None].expand_as(x), x)
    return s / n[:, None]
