"""Large inputs lose NaN."""
# workload: f(randn(2048, 320))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.where(x != x, x, torch.where(x > 0, x, torch.exp(x) - 1))

# %% candidate
import torch


def f(x):
    if x.numel() < 600_000:
        return torch.where(x != x, x, torch.where(x > 0, x, torch.exp(x) - 1))
    return torch.nan_to_num(torch.nn.functional.elu(x))
