"""Length zero, not in the range."""
# workload: f(randn(4, 48), randint(1, 49, 4))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    m = torch.arange(x.shape[1], device=x.device)[None] < n[:, None]
    p = torch.softmax(x.masked_fill(~m, float('-inf')), -1)
    return torch.where(m, p, 0.0)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    m = torch.arange(x.shape[1], device=x.device)[None] < n[:, None]
    p = torch.softmax(x.masked_fill(~m, float('-inf')), -1)
    return p
