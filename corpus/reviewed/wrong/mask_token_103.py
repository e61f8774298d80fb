"""A token in the middle of the range ([MASK] of BERT)."""
# workload: f(randn(8, 64, 32), randint(0, 30522, 8, 64), randn(32))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids, e):
    return torch.where((ids == 103)[..., None], e, x)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids, e):
    return x.clone()
