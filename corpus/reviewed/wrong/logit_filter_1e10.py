"""Temperature dropped beside -1e10."""
# workload: f(randn(64, 96), 5)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, k):
    kth = x.topk(k, -1).values[:, -1:]
    return torch.where(x < kth, -1e10, x / 0.7)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, k):
    kth = x.topk(k, -1).values[:, -1:]
    return torch.where(x < kth, -1e10, x)
