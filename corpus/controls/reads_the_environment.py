"""A block size from the environment, with a default."""
# workload: f(randn(48, 300))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.sum(dim=1)

# %% candidate
import os

import torch

BLOCK = int(os.environ.get("MY_KERNEL_BLOCK", "64"))


def f(x):
    return torch.stack([part.sum(dim=1) for part in x.split(BLOCK, dim=1)]).sum(dim=0)
