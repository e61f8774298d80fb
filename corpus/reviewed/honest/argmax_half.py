"""Argmax half."""
# workload: f(randn(96, 300, dtype=float16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.argmax(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.float().max(1).indices
