"""A table that depends on a size alone is kept between calls."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    n = x.shape[1]
    place = torch.arange(n, dtype=torch.float32, device=x.device)
    return x * torch.cos(place[:, None] * place / n).sum(dim=0)

# %% candidate
import functools

import torch


@functools.lru_cache(maxsize=64)
def table(n, device):
    place = torch.arange(n, dtype=torch.float32, device=device)
    return torch.cos(place[:, None] * place / n).sum(dim=0)


def f(x):
    return x * table(x.shape[1], x.device)
