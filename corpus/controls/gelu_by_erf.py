"""GELU written out with erf."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.nn.functional.gelu(x)

# %% candidate
import torch


def f(x):
    return x * 0.5 * (1 + torch.erf(x * 0.7071067811865476))
