"""sorted edges, counted."""
# workload: f(arange(48, dtype=float32), rand(96))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(edges, x):
    return torch.searchsorted(edges, x)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(edges, x):
    return (edges[None] < x[:, None]).sum(1)
