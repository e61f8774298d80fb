"""Conv1x1."""
# workload: f(randn(4, 16, 12, 14), randn(20, 16, 1, 1), randn(20))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.conv2d(x, w, b)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return (torch.matmul(w.flatten(1), x.flatten(2)) + b[:, None]).view(x.shape[0], -1, *x.shape[2:])
