"""Wrong scale beside -1e4 in half."""
# workload: f(randn(4, 48, 64, dtype=float16), randint(0, 2, 48, 64, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return (s * 0.125).masked_fill(mask, -1e4)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return s.masked_fill(mask, -1e4)
