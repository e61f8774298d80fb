"""Switches denormal numbers off for the whole process."""
# workload: f(randn(64, 300))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    y = x
    for _ in range(60):
        y = y * 0.2
        x = x + y
    return x

# %% candidate
import torch

torch.set_flush_denormal(True)


def f(x):
    y = x
    for _ in range(60):
        y = y * 0.2
        x = x + y
    return x
