"""Linear interpolation as a product with a matrix."""
# workload: f(randn(16, 60))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.nn.functional.interpolate(x[:, None], scale_factor=2, mode='linear', align_corners=False)[:, 0]

# %% candidate
import torch


def f(x):
    n = x.shape[1]
    at = ((torch.arange(2 * n, dtype=torch.float64) + 0.5) / 2 - 0.5).clamp(0, n - 1)
    weight = (1 - (at[None, :] - torch.arange(n)[:, None]).abs()).clamp(min=0)
    return x @ weight.to(x.dtype)
