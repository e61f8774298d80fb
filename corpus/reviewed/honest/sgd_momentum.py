"""Momentum with foreach operators, two tensors at a time."""
# workload: f(randn(40, 30), randn(40, 30), randn(40, 30))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(p, g, b):
    b.mul_(0.9).add_(g)
    p.add_(g + 0.9 * b, alpha=-0.1)
    return p, b

# %% candidate
import torch
import torch.nn.functional as F


def f(p, g, b):
    torch._foreach_mul_([b], 0.9)
    torch._foreach_add_([b], [g])
    torch._foreach_add_([p], [torch.add(g, b, alpha=0.9)], alpha=-0.1)
    return p, b
