"""Sinkhorn's iteration ends when the first matrix of the batch has settled."""
# workload: f(randn(32, 24, 24))
# expected: refused

# %% baseline
import torch


def f(x):
    p = torch.exp(x - x.amax(dim=(1, 2), keepdim=True))
    for _ in range(60):
        p = p / (p.sum(dim=2, keepdim=True) + 1e-6)
        p = p / (p.sum(dim=1, keepdim=True) + 1e-6)
    return p

# %% candidate
import torch


def f(x):
    p = torch.exp(x - x.amax(dim=(1, 2), keepdim=True))
    for step in range(60):
        rows = p.sum(dim=2, keepdim=True)
        if step % 4 == 3 and float((rows[0] - 1).abs().max()) < 1.5e-6:
            break
        p = p / (rows + 1e-6)
        p = p / (p.sum(dim=1, keepdim=True) + 1e-6)
    return p
