"""Token types all zero, assumed."""
# workload: f(randn(64, 96), zeros(64, dtype=int64), randn(2, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids, table):
    return x + table[ids]

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, ids, table):
    return x + table[0]
