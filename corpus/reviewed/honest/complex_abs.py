"""Complex abs."""
# workload: f(randn(32, 64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.abs(torch.fft.fft(x))

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return (lambda r: torch.cat([r, r[:, 1:(x.shape[1] + 1) // 2].flip(1)], 1).abs())(torch.fft.rfft(x))
