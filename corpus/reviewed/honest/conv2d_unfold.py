"""A convolution as one product with unfolded patches."""
# workload: f(randn(2, 8, 17, 19), randn(12, 8, 3, 3), randn(12))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w, b):
    return F.conv2d(x, w, b, padding=1)

# %% candidate
import torch
import torch.nn.functional as F


def f(x, w, b):
    n, _, h, v = x.shape
    cols = F.unfold(x, 3, padding=1)
    return torch.baddbmm(b[:, None], w.reshape(1, w.shape[0], -1).expand(n, -1, -1), cols).reshape(n, -1, h, v)
