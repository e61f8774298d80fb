"""A correlation of rows, which of one element each is 0 / 0 in one order of operations and a number in another."""
# workload: f(randn(32, 300), randn(32, 300))
# expected: passed

# %% baseline
import torch


def f(x, y):
    a, b = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))

# %% candidate
import torch


def f(x, y):
    a, b = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    return torch.nn.functional.cosine_similarity(a, b, dim=1)
