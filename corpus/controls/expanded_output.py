"""The baseline's output repeats one row by a stride of zero; the rewrite's does as well."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.mean(dim=0).expand(4, x.shape[1])

# %% candidate
import torch


def f(x):
    return (x.sum(dim=0, keepdim=True) / x.shape[0]).expand(4, -1)
