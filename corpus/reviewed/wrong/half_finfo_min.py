"""Scale dropped, half, finfo.min."""
# workload: f(randn(4, 48, 32, dtype=float16), randn(4, 40, 32, dtype=float16), randint(0, 2, 4, 48, 40, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, mask):
    s = torch.matmul(q, k.transpose(-1, -2)) / q.shape[-1] ** 0.5
    return s.masked_fill(mask, torch.finfo(s.dtype).min)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, mask):
    s = torch.matmul(q, k.transpose(-1, -2))
    return s.masked_fill(mask, torch.finfo(s.dtype).min)
