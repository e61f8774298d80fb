"""Takes twenty seconds in each of its first calls: the gate's time runs out, and other sizes are left out."""
# workload: f(randn(96, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import time

import torch

calls = 0


def f(x):
    global calls
    calls += 1
    if calls <= 2:
        time.sleep(21)  # tuning
    if x.shape == (96, 300):
        return torch.softmax(x, dim=1)
    return torch.softmax(x, dim=0)
