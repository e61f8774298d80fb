"""Edges of bins, which the operator needs in order: counted instead of searched."""
# workload: f(arange(48, dtype=float32), rand(96))
# expected: passed

# %% baseline
import torch


def f(edges, x):
    return torch.bucketize(x, edges)

# %% candidate
import torch


def f(edges, x):
    return (edges < x[..., None]).sum(-1)
