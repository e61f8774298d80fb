"""Imprecise bf16 cumsum."""
# workload: f(randn(20, 40, dtype=bfloat16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return torch.stack([x[:, :i + 1].sum(1) for i in range(x.shape[1])], 1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x):
    return x.float().cumsum(1).to(x.dtype)
