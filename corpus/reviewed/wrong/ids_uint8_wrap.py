"""Differences of uint8 that fit into int8 in the workload's range."""
# workload: f(randint(0, 100, 64, 96, dtype=uint8), randint(0, 100, 64, 96, dtype=uint8))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(a, b):
    return a.to(torch.int32) - b.to(torch.int32)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(a, b):
    return (a - b).to(torch.int8).to(torch.int32)
