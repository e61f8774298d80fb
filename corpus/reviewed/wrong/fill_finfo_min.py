"""Wrong scale beside finfo.min."""
# workload: f(randn(4, 48, 64), randint(0, 2, 48, 64, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return (s * 0.125).masked_fill(mask, torch.finfo(s.dtype).min)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return (s * 0.5).masked_fill(mask, torch.finfo(s.dtype).min)
