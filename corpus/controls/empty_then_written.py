"""torch.empty, all of it written afterwards."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch


def f(x):
    out = torch.empty_like(x)
    for rows, target in zip(x.split(16), out.split(16)):
        torch.softmax(rows, dim=1, out=target)
    return out
