"""Scales of columns multiplied in after the product."""
# workload: f(randn(48, 64), randint(-127, 128, 64, 40, dtype=int8), rand(40))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, q, s):
    return x @ (q.float() * s)

# %% candidate
import torch
import torch.nn.functional as F


def f(x, q, s):
    return (x @ q.float()) * s
