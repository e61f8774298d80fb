"""Half up."""
# workload: f(randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.clamp(torch.round(x * 16), -128, 127).to(torch.int8)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.clamp(torch.floor(x * 16 + 0.5), -128, 127).to(torch.int8)
