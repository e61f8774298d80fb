"""X >= 0.5."""
# workload: f(rand(64, 96), 0.5)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, t):
    return (x > t).to(x.dtype)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, t):
    return (x >= t).to(x.dtype)
