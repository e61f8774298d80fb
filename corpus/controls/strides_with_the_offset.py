"""Transposes by strides, from where the input begins in its storage."""
# workload: f(randn(64, 80))
# expected: passed

# %% baseline
def f(x):
    return x.t().contiguous()

# %% candidate
import torch


def f(x):
    return torch.as_strided(x, (x.shape[1], x.shape[0]), (x.stride(1), x.stride(0)), x.storage_offset()).contiguous()
