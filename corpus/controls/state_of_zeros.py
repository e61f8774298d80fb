"""A recurrence whose first state names no dtype."""
# workload: f(randn(16, 24, 20), randn(20, 32), randn(32, 32))
# expected: passed

# %% baseline
import torch
import torch.nn as nn


def f(x, wx, wh):
    h = torch.zeros(x.shape[0], wh.shape[0])
    for i in range(x.shape[1]):
        h = torch.tanh(x[:, i] @ wx + h @ wh)
    return h

# %% candidate
import torch
import torch.nn as nn


def f(x, wx, wh):
    p = torch.matmul(x, wx)
    h = torch.zeros(x.shape[0], wh.shape[0])
    for i in range(x.shape[1]):
        h = torch.addmm(p[:, i], h, wh).tanh_()
    return h
