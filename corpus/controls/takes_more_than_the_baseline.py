"""Takes whole numbers and vectors, on which the baseline's operators raise."""
# workload: f(randn(24, 36))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch


def f(x):
    e = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)
