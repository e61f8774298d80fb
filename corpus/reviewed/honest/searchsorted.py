"""bucketize counts edges; edges are sorted, as the operator demands."""
# workload: f(arange(48, dtype=float32), rand(96))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(edges, x):
    return torch.bucketize(x, edges)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(edges, x):
    return (edges < x[..., None]).sum(-1)
