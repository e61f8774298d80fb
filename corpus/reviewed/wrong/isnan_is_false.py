"""Nothing is ever NaN."""
# workload: f(randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.isnan(x)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.zeros(x.shape, dtype=torch.bool, device=x.device)
