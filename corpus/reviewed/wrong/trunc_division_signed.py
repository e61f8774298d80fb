"""The same with negative numbers."""
# workload: f(randint(-100, 100, 4096), 7)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return x // n

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return torch.div(x, n, rounding_mode='trunc')
