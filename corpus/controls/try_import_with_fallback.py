"""An optional import in try and except, with pass."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch

try:
    import a_package_that_nobody_has
except ImportError:
    pass


class Empty:
    pass


def f(x):
    e = torch.exp(x - x.amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)
