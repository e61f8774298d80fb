"""The lower median by sorting."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x):
    return x.median(1).values

# %% candidate
import torch
import torch.nn.functional as F


def f(x):
    middle = x.sort(1).values[:, (x.shape[1] - 1) // 2]
    return torch.where(x.isnan().any(1), float("nan"), middle)
