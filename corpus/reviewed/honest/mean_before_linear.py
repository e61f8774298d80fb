"""Mean before linear."""
# workload: f(randn(8, 20, 48), randn(36, 48), randn(36))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.linear(x, w, b).mean(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.linear(x.mean(1), w, b)
