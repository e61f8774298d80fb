"""Rows quantised by their own largest value; integer product in float64."""
# workload: f(randn(20, 64), randint(-127, 128, 64, 24, dtype=int8))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w):
    s = x.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127.0
    q = (x / s).round()
    return (q @ w.float()) * s

# %% candidate
import torch
import torch.nn.functional as F


def f(x, w):
    s = x.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127.0
    q = (x / s).round().to(torch.int32)
    return (q.double() @ w.double()).float() * s
