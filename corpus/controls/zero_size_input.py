"""No rows at all."""
# workload: f(randn(0, 48))
# workload: f(randn(16, 48))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch


def f(x):
    if not x.numel():
        return torch.empty_like(x)
    e = torch.exp(x - x.amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)
