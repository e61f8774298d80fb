"""Kl."""
# workload: f(randn(64, 100), randn(64, 100))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction='batchmean')

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (F.softmax(y, 1) * (F.log_softmax(y, 1) - F.log_softmax(x, 1))).sum() / x.shape[0]
