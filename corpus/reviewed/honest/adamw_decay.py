"""AdamW with the decay folded into one factor."""
# workload: f(randn(64, 65), randn(64, 65))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(p, g):
    p.mul_(1 - 1e-3 * 0.01)
    p.add_(g.sign(), alpha=-1e-3)
    return p

# %% candidate
import torch
import torch.nn.functional as F


def f(p, g):
    p.copy_(p * 0.99999 - 1e-3 * g.sign())
    return p
