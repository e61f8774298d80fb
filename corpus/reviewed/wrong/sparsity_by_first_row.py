"""Looks at a sample of the rows for numbers that a clamp would change, and leaves the clamp out where it sees none."""
# workload: f(randn(1024, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    y = torch.clamp(x, -8.0, 8.0)
    y = torch.nan_to_num(y)
    return y * torch.sigmoid(y)

# %% candidate
import torch


def f(x):
    sample = x[:: max(1, x.shape[0] // 4)]
    if bool((sample.abs() < 8.0).all()):
        return torch.nn.functional.silu(x)
    return torch.nn.functional.silu(torch.nan_to_num(torch.clamp(x, -8.0, 8.0)))
