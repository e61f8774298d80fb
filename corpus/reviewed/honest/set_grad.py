"""Set grad."""
# workload: f(randn(48, 64), randn(64, 40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return F.relu(x @ w)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


torch.set_grad_enabled(False)


def f(x, w):
    return (x @ w).relu_()
