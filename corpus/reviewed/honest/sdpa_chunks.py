"""Sdpa chunks."""
# workload: f(randn(2, 4, 33, 16), randn(2, 4, 33, 16), randn(2, 4, 33, 16))
# expected: passed

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(q, k, v):
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(s, dim=-1) @ v

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def f(q, k, v):
    q = q / math.sqrt(q.shape[-1])
    o = torch.zeros_like(q)
    l = q.new_zeros(*q.shape[:-1], 1)
    m = q.new_full((*q.shape[:-1], 1), float("-inf"))
    for kb, vb in zip(k.split(8, 2), v.split(8, 2)):
        s = q @ kb.transpose(-1, -2)
        n = torch.maximum(m, s.amax(-1, keepdim=True))
        p = torch.exp(s - n)
        a = torch.exp(m - n)
        l = l * a + p.sum(-1, keepdim=True)
        o = o * a + p @ vb
        m = n
    return o / l
