"""Only the first of a batch, which has one."""
# workload: f(randn(1, 8, 48, 32), randn(1, 8, 48, 32), randn(1, 8, 48, 32))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v):
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return torch.softmax(s, -1) @ v

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v):
    o = torch.empty_like(q)
    for h in range(q.shape[1]):
        s = q[0, h] @ k[0, h].T * q.shape[-1] ** -0.5
        o[0, h] = torch.softmax(s, -1) @ v[0, h]
    return o
