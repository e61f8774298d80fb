"""0 instead of NaN for rows of one."""
# workload: f(randn(64, 96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.var(-1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return (x - x.mean(-1, keepdim=True)).square().sum(-1) / max(x.shape[-1] - 1, 1)
