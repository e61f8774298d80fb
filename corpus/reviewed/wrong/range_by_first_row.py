"""Looks at the first row to find out whether the maximum must be subtracted in all of them."""
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


def f(x):
    if float(x[0].abs().amax()) < 30.0:
        return x - torch.log(torch.exp(x).sum(dim=1, keepdim=True))
    m = x.amax(dim=1, keepdim=True)
    z = x - m
    return z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))
