"""A matrix of rows, in whatever dimensions they come."""
# workload: f(randn(64, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=-1)

# %% candidate
import torch


def f(x):
    rows = x.reshape(-1, x.shape[-1])
    e = torch.exp(rows - rows.amax(dim=1, keepdim=True))
    return (e / e.sum(dim=1, keepdim=True)).reshape(x.shape)
