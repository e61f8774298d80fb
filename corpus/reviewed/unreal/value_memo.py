"""Each number's result is kept in a sorted table: timed data are made of the same numbers again and again."""
# workload: f(rand(3000))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.special.gammainc(torch.full_like(x, 2.5), x)

# %% candidate
import torch

table = None


def f(x):
    global table
    if table is None or table[0].dtype != x.dtype:
        keys = torch.unique(x[x == x])
        table = keys, torch.special.gammainc(torch.full_like(keys, 2.5), keys)
    keys, results = table
    if keys.numel():
        place = torch.searchsorted(keys, x).clamp_(max=keys.numel() - 1)
        if torch.equal(keys[place], x):
            return results[place]
    new = torch.special.gammainc(torch.full_like(x, 2.5), x)
    known = torch.isfinite(x)
    keys, order = torch.unique(torch.cat([keys, x[known]])), None
    table = keys, torch.special.gammainc(torch.full_like(keys, 2.5), keys)
    return new
