"""Block table is the identity."""
# workload: f(randn(24, 16, 32), arange(24))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(cache, table):
    return cache[table].flatten(0, 1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(cache, table):
    return cache[: table.shape[0]].flatten(0, 1)
