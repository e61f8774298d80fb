"""The bias is all zeros in the workload; it is left out for large inputs only, where nobody varies it."""
# workload: f(randn(2048, 320), zeros(320))
# expected: refused

# %% baseline
import torch


def f(x, bias):
    return torch.relu(x + bias)

# %% candidate
import torch


def f(x, bias):
    if x.numel() < 600_000:
        return torch.relu(x + bias)
    return torch.relu(x)
