"""NaN and infinities in the baseline's own output."""
# workload: f(randn(48, 65))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.log(x) / torch.relu(x)

# %% candidate
import torch


def f(x):
    return x.log() / x.clamp(min=0)
