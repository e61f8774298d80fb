"""The mask of bools is all ones in the workload, and left out."""
# workload: f(randn(16, 64, 8), randn(16, 64, 8), randn(16, 64, 8), ones(64, 64, dtype=bool))
# expected: refused

# %% baseline
import torch


def f(q, k, v, mask):
    s = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    s = s.masked_fill(~mask, float("-inf"))
    return torch.softmax(s, dim=-1) @ v

# %% candidate
import torch


def f(q, k, v, mask):
    s = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    return torch.softmax(s, dim=-1) @ v
