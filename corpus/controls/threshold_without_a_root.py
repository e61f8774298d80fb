"""A comparison that the baseline rounds to the wrong side of, for some elements."""
# workload: f(randn(40, 24), randn(36, 24))
# expected: passed

# %% baseline
import torch
import torch.nn as nn


def f(x, y):
    return torch.cdist(x, y) < 5.0

# %% candidate
import torch
import torch.nn as nn


def f(x, y):
    return (x[:, None] - y[None]).square().sum(-1) < 25.0
