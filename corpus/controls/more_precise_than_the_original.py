"""Sums in float64 where the baseline sums in float32."""
# workload: f(randn(48, 300))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.square().mean(dim=1).sqrt()

# %% candidate
import torch


def f(x):
    return x.double().square().mean(dim=1).sqrt().float()
