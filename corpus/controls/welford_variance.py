"""The variance by Chan's merging of blocks."""
# workload: f(randn(48, 300))
# expected: passed

# %% baseline
import torch


def f(x):
    return x.var(dim=1, correction=0)

# %% candidate
import torch


def f(x):
    n, mean, m2 = 0, torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
    for block in x.split(64, dim=1):
        size, own = block.shape[1], block.mean(dim=1)
        delta = own - mean
        m2 = m2 + (block - own[:, None]).square().sum(dim=1) + delta.square() * n * size / (n + size)
        mean, n = mean + delta * size / (n + size), n + size
    return m2 / n
