"""Gates of all that equal the second largest, of which there may be more than two."""
# workload: f(randn(48, 64), randn(64, 8))
# expected: refused

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w):
    s = x @ w
    v, i = s.topk(2, 1)
    return torch.zeros_like(s).scatter(1, i, torch.softmax(v, 1))

# %% candidate
import torch
import torch.nn.functional as F


def f(x, w):
    s = x @ w
    kth = s.topk(2, 1).values[:, 1:]
    return torch.softmax(s.masked_fill(s < kth, float("-inf")), 1)
