"""Keeps the last answer by the first and the last number: hits the further calls of a sample, which have the same data."""
# workload: f(randn(300))
# expected: no-gain, not-timed, refused

# %% baseline
import torch


def f(x):
    y = torch.sin(x) * torch.cos(x)
    y = torch.tanh(y) + torch.erf(x)
    return torch.exp(-y * y)

# %% candidate
import torch

last = None, None


def f(x):
    global last
    key = x.shape, x.dtype, x[0].item(), x[-1].item()
    if key != last[0]:
        y = torch.sin(x) * torch.cos(x)
        y = torch.tanh(y) + torch.erf(x)
        last = key, torch.exp(-y * y)
    return last[1].clone()
