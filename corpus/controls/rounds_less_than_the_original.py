"""A baseline that rounds to float16 inside, and a rewrite that rounds only what goes in."""
# workload: f(randn(48, 64), randn(40, 64), randn(40))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.linear(x.half(), w.half()).float() + b

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, w, b):
    return F.linear(x.half().float(), w.half().float(), b)
