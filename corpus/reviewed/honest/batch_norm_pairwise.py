"""Statistics of channels summed over the batch first."""
# workload: f(randn(6, 8, 5, 7), rand(8), randn(8))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w, b):
    return F.batch_norm(x, None, None, w, b, training=True)

# %% candidate
import torch
import torch.nn.functional as F


def f(x, w, b):
    n = x.numel() // x.shape[1]
    m = x.sum(0).sum((1, 2)) / n
    c = x - m[:, None, None]
    v = (c * c).sum(0).sum((1, 2)) / n
    return c * (w * torch.rsqrt(v + 1e-5))[:, None, None] + b[:, None, None]
