"""Smoothing over C - 1 classes."""
# workload: f(randn(64, 1000), randint(0, 1000, 64))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y):
    return F.cross_entropy(x, y, label_smoothing=0.1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y):
    return (-0.9 * torch.log_softmax(x, -1).gather(1, y[:, None])[:, 0] - 0.1 / (x.shape[1] - 1) * torch.log_softmax(x, -1).sum(1)).mean()
