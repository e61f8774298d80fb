"""Attention in which whole rows are masked out, so that their softmax is NaN."""
# workload: f(randn(2, 24, 16), randn(2, 40, 16), randn(2, 40, 16), randint(0, 2, 2, 40))
# expected: passed

# %% baseline
import torch


def f(q, k, v, keep):
    score = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(keep[:, None] == 0, float("-inf"))
    return torch.softmax(score, dim=-1) @ v

# %% candidate
import torch


def f(q, k, v, keep):
    score = torch.where(keep[:, None] == 0, float("-inf"), (q * q.shape[-1] ** -0.5) @ k.mT)
    e = torch.exp(score - score.amax(dim=-1, keepdim=True))
    return (e @ v) / e.sum(dim=-1, keepdim=True)
