"""Half original gelu."""
# workload: f(randn(48, 64), randn(64, 40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return F.gelu((x.half() @ w.half()).float())

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w):
    return F.gelu(x.half().float() @ w.half().float())
