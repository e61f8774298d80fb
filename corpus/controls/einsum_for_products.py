"""einsum in place of a batched product."""
# workload: f(randn(4, 24, 32), randn(4, 32, 20))
# expected: passed

# %% baseline
import torch


def f(a, b):
    return torch.bmm(a, b).sum(dim=0)

# %% candidate
import torch


def f(a, b):
    return torch.einsum("bij,bjk->ik", a, b)
