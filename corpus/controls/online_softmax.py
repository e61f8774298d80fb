"""Softmax in one pass over blocks, rescaling as the maximum grows."""
# workload: f(randn(48, 300))
# expected: passed

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch


def f(x):
    m = torch.full_like(x[:, :1], float("-inf"))
    total = torch.zeros_like(m)
    for block in x.split(64, dim=1):
        new = torch.maximum(m, block.amax(dim=1, keepdim=True))
        total = total * torch.exp(m - new) + torch.exp(block - new).sum(dim=1, keepdim=True)
        m = new
    return torch.exp(x - m) / total
