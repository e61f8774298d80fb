"""The class of the largest score needs no softmax, and which of two infinite scores is larger is nobody's to say."""
# workload: f(randn(48, 64), randn(40, 64))
# expected: passed

# %% baseline
import torch


def f(x, w):
    return torch.softmax(x @ w.t(), dim=1).argmax(dim=1)

# %% candidate
import torch


def f(x, w):
    return (x @ w.t()).argmax(dim=1)
