"""Integers are the same in every timed sample: the answer for the last input is kept, and compared in full."""
# workload: f(randint(0, 1000, (256, 300)))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    return torch.sort(x, dim=1).values

# %% candidate
import torch

last_x = last_y = None


def f(x):
    global last_x, last_y
    if last_x is None or not torch.equal(x, last_x):
        last_x, last_y = x.clone(), torch.sort(x, dim=1).values
    return last_y.clone()
