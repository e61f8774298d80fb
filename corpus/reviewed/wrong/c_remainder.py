"""Sign of the remainder, only positive numbers."""
# workload: f(randint(0, 1000, 4096), 7)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return x % n

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, n):
    return torch.fmod(x, n)
