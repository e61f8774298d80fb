"""Order of topk not promised."""
# workload: f(randn(64, 300))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.topk(8, -1).values

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.topk(8, -1, sorted=False).values
