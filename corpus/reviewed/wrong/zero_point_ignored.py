"""Scalar zero point of 0 dropped."""
# workload: f(randint(-128, 128, 64, 96, dtype=int8), 0.05, 0)
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, scale, zero_point):
    return (q.float() - zero_point) * scale

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, scale, zero_point):
    return q.float() * scale
