"""Segments of different lengths, by scatter instead of a loop."""
# workload: f(randn(300), 7)
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, n):
    parts = x.tensor_split(n)
    return torch.cat([torch.softmax(p, 0) for p in parts])

# %% candidate
import torch
import torch.nn.functional as F


def f(x, n):
    sizes = [p.numel() for p in x.tensor_split(n)]
    ids = torch.repeat_interleave(torch.arange(n, device=x.device), torch.tensor(sizes, device=x.device))
    top = x.new_full((n,), float("-inf")).scatter_reduce(0, ids, x, "amax")
    e = torch.exp(x - top[ids])
    return e / x.new_zeros(n).index_add(0, ids, e)[ids]
