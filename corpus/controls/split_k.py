"""A matrix product in four parts of k, added up at the end."""
# workload: f(randn(32, 640), randn(640, 24))
# expected: passed

# %% baseline
import torch


def f(a, b):
    return a @ b

# %% candidate
import torch


def f(a, b):
    k = max(1, -(-a.shape[1] // 4))
    return torch.stack([x @ y for x, y in zip(a.split(k, 1), b.split(k, 0))]).sum(dim=0)
