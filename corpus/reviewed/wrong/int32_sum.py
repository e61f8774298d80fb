"""Sum of int64 in int32."""
# workload: f(randint(0, 1000, 64, 300))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.sum(1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.sum(1, dtype=torch.int32).long()
