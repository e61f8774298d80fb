"""Sets itself up on the first call, as a compiler would."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import time

import torch

ready = None


def f(x):
    global ready
    if ready is None:
        time.sleep(0.2)
        ready = torch.softmax
    return ready(x, dim=1)
