"""A dict with a nested tuple and None."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return {"sum": x.sum(dim=1), "rest": (None, x.amax(dim=1)), "name": "row"}

# %% candidate
import torch


def f(x):
    total = x.split(32, dim=1)
    return {"sum": sum(part.sum(dim=1) for part in total), "rest": (None, x.max(dim=1).values), "name": "row"}
