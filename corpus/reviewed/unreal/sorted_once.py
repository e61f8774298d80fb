"""Tries the order that sorted the last integers, and looks whether it sorts these: right always, fast on the same data."""
# workload: f(randint(0, 100000, 20000), randn(20000, 4))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(keys, x):
    return x[torch.argsort(keys, stable=True)]

# %% candidate
import torch

order = None


def f(keys, x):
    global order
    if order is not None and order.shape == keys.shape:
        s = keys[order]
        d, p = s[1:] - s[:-1], order[1:] - order[:-1]
        if bool(((d > 0) | ((d == 0) & (p > 0))).all()):
            return x[order]
    order = torch.argsort(keys, stable=True)
    return x[order]
