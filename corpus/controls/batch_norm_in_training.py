"""Batch statistics by hand, with the running ones updated as the baseline does."""
# expected: passed

# %% baseline
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return torch.relu(self.norm(x))


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]

# %% candidate
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        norm, n = self.norm, x.shape[0]
        if n < 2:
            raise ValueError("one row has no statistics")
        v, m = torch.var_mean(x, dim=0, correction=0)
        with torch.no_grad():
            norm.num_batches_tracked += 1
            norm.running_mean.lerp_(m, norm.momentum)
            norm.running_var.lerp_(v * (n / (n - 1)), norm.momentum)
        return torch.relu((x - m) * torch.rsqrt(v + norm.eps) * norm.weight + norm.bias)


def get_inputs():
    return [torch.randn(32, 48)]


def get_init_inputs():
    return [48]
