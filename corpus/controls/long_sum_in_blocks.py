"""A sum over many elements, in blocks: rounding grows with the length, in both."""
# workload: f(rand(16, 20000))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.sum(dim=1)

# %% candidate
import torch


def f(x):
    total = torch.zeros_like(x[:, 0])
    for part in x.split(256, dim=1):
        total += part.sum(dim=1)
    return total
