"""Out workspace."""
# workload: f(randn(48, 64), randn(64, 40), randn(40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return torch.softmax(x @ w + b, dim=1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


_space = {}


def f(x, w, b):
    key = (x.shape[0], w.shape[1], x.dtype, x.device)
    h = _space.get(key)
    if h is None:
        h = _space[key] = torch.empty(x.shape[0], w.shape[1], dtype=x.dtype, device=x.device)
    torch.addmm(b, x, w, out=h)
    return torch.softmax(h, dim=1)
