"""Divides by the number of rows, which may be none."""
# workload: f(randn(64, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.mean(dim=0)

# %% candidate
import torch


def f(x):
    return torch.ones(x.shape[0]) @ x / torch.tensor(float(x.shape[0]))
