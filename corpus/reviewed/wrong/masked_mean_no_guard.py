"""A row without any token, 12 is never varied."""
# workload: f(randn(4, 12, 64), randint(0, 2, 4, 12))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, m):
    m = m[..., None].float()
    n = m.sum(1)
    return torch.where(n > 0, (x * m).sum(1) / n, 0.0)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, m):
    m = m[..., None].float()
    n = m.sum(1)
    return (x * m).sum(1) / n
