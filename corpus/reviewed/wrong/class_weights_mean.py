"""Mean over N instead of the weights."""
# workload: f(randn(64, 100), randint(0, 100, 64), ones(100))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y, w):
    return F.cross_entropy(x, y, w)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y, w):
    return (F.cross_entropy(x, y, reduction='none') * w[y]).mean()
