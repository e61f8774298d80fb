"""The same with an additive mask as an argument."""
# workload: f(randn(4, 48, 40), zeros(48, 40))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return torch.softmax(s + mask, -1)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    x = s + mask
    m = x.new_full(x.shape[:-1] + (1,), float("-inf"))
    l = torch.zeros_like(m)
    for c in x.split(16, -1):
        new = torch.maximum(m, c.amax(-1, keepdim=True))
        l = l * torch.exp(m - new) + torch.exp(c - new).sum(-1, keepdim=True)
        m = new
    return torch.exp(x - m) / l
