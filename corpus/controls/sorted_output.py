"""A stable sort, and the positions."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.sort(x, dim=1, stable=True)

# %% candidate
import torch


def f(x):
    at = torch.argsort(x, dim=1, stable=True)
    return torch.return_types.sort((x.gather(1, at), at))
