"""One KV head: which one is not asked."""
# workload: f(randn(2, 8, 48, 32), randn(2, 1, 48, 32))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k):
    g = q.shape[1] // k.shape[1]
    return q @ k.repeat_interleave(g, 1).transpose(-1, -2)

# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k):
    g = q.shape[1] // k.shape[1]
    return q @ k.repeat(1, g, 1, 1).transpose(-1, -2)
