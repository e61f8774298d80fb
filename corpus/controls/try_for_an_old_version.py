"""A newer name where there is one, the older one elsewhere."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch

try:
    from torch.special import softmax
except ImportError:
    from torch import softmax


def f(x):
    return softmax(x, dim=1)
