"""Wrong scale (4 %) beside fills of -1e9, no product before."""
# workload: f(randn(4, 48, 64), randint(0, 2, 48, 64, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return (s * 0.125).masked_fill(mask, -1e9)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return (s * 0.12).masked_fill(mask, -1e9)
