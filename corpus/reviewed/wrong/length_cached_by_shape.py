"""The largest length is asked for once for each shape: the data's largest integer is always the end of the range."""
# workload: f(randn(64, 100), randint(1, 65, 64))
# expected: refused

# %% baseline
import torch


def f(x, lengths):
    longest = int(lengths.max())
    x = x[:, :longest]
    mask = torch.arange(longest, device=x.device)[None, :] < lengths[:, None]
    return (x * mask).cumsum(dim=1)

# %% candidate
import functools

import torch

known = {}


def f(x, lengths):
    key = tuple(x.shape), lengths.shape
    if key not in known:
        longest = int(lengths.max())
        known[key] = torch.arange(longest)[None, :]
    steps = known[key]
    return (x[:, : steps.shape[1]] * (steps < lengths[:, None])).cumsum(dim=1)
