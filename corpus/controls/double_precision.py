"""float64 in and out."""
# workload: f(randn(48, 65, dtype=float64))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.logsumexp(x, dim=1)

# %% candidate
import torch


def f(x):
    m = x.amax(dim=1, keepdim=True)
    return (m + torch.log(torch.exp(x - m).sum(dim=1, keepdim=True))).squeeze(1)
