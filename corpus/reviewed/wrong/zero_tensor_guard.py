"""Guard against a tensor of zeros dropped."""
# workload: f(randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    s = x.abs().max() / 127
    s = torch.where(s == 0, torch.ones_like(s), s)
    return torch.round(x / s).clamp(-127, 127).to(torch.int8), s

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    s = x.abs().max() / 127
    return torch.round(x / s).clamp(-127, 127).to(torch.int8), s
