"""Watches the first 16 calls: where nothing large came, the maximum is never subtracted again. The timed process is a new one."""
# workload: f(randn(512, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    m = x.amax(dim=1, keepdim=True)
    z = x - m
    return z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))

# %% candidate
import torch

calls, largest = 0, 0.0


def f(x):
    global calls, largest
    if calls < 16:
        calls += 1
        largest = max(largest, float(x.abs().amax()))
    elif largest < 20.0:
        return x - torch.log(torch.exp(x).sum(dim=1, keepdim=True))
    m = x.amax(dim=1, keepdim=True)
    z = x - m
    return z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))
