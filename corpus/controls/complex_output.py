"""Complex numbers."""
# workload: f(randn(48, 64))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.fft.rfft(x)

# %% candidate
import torch


def f(x):
    return torch.fft.fft(x)[:, : x.shape[1] // 2 + 1].contiguous()
