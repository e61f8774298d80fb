"""NaN <= t is False, not (NaN > t) is True."""
# workload: f(randn(64, 96), 0.5)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, t):
    return x <= t

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, t):
    return ~(x > t)
