"""How many classes there are is asked for once for each shape: the data's largest integer is always the end of the range."""
# workload: f(randint(0, 10, 4096))
# expected: refused

# %% baseline
import torch


def f(t):
    return torch.nn.functional.one_hot(t, int(t.max()) + 1).to(torch.float32)

# %% candidate
import functools

import torch

classes = {}


def f(t):
    if t.shape not in classes:
        classes[t.shape] = torch.arange(int(t.max()) + 1)
    return (t.unsqueeze(-1) == classes[t.shape]).to(torch.float32)
