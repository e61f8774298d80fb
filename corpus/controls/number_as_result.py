"""A sum that ends as a Python number, in another order of addition."""
# workload: f(randn(96, 300), randn(96, 300))
# expected: passed

# %% baseline
import torch


def f(x, y):
    return (x * y).sum().item(), int((x > y).sum())

# %% candidate
import torch


def f(x, y):
    return torch.dot(x.reshape(-1).flip(0), y.reshape(-1).flip(0)).item(), int((y < x).sum())
