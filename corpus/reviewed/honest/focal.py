"""Focal."""
# workload: f(randn(64, 100), randint(0, 100, 64))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (-(1 - torch.softmax(x, 1).gather(1, y[:, None])) ** 2 * torch.log_softmax(x, 1).gather(1, y[:, None])).mean()

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(x, y):
    return (lambda l: -((1 - l.exp()) ** 2 * l).mean())(torch.log_softmax(x, 1).gather(1, y[:, None]))
