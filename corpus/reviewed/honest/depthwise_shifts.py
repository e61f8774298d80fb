"""A depthwise convolution as nine shifted products."""
# workload: f(randn(2, 8, 17, 19), randn(8, 1, 3, 3))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w):
    return F.conv2d(x, w, padding=1, groups=x.shape[1])

# %% candidate
import torch
import torch.nn.functional as F


def f(x, w):
    p, (h, v) = F.pad(x, (1, 1, 1, 1)), x.shape[2:]
    return sum(p[:, :, i : i + h, j : j + v] * w[:, 0, i, j, None, None] for i in range(3) for j in range(3))
