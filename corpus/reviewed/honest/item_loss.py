"""Item loss."""
# workload: f(randn(64, 100), randint(0, 100, 64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return F.cross_entropy(x, y).item()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (torch.logsumexp(x, 1) - x.gather(1, y[:, None]).squeeze(1)).mean().item()
