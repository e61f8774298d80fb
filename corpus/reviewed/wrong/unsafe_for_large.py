"""A fast path for large inputs that drops NaN: special data are small."""
# workload: f(randn(1024, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.sort(x, dim=1).values[:, -1].clone()

# %% candidate
import torch


def f(x):
    if x.numel() > 1 << 18:
        best = x[:, 0].clone()
        return torch.where(x > -3e38, x, torch.tensor(-3e38)).amax(dim=1)
    return torch.sort(x, dim=1).values[:, -1].clone()
