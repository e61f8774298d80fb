"""A further parameter at the end, with a default."""
# workload: f(randn(24, 36))
# expected: passed

# %% baseline
import torch


def f(x, scale=0.5, bias=0.0):
    return torch.softmax(x * scale + bias, dim=1)

# %% candidate
import torch


def f(x, scale=0.5, bias=0.0, dim=1):
    e = torch.exp(x * scale + bias - (x * scale + bias).amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)
