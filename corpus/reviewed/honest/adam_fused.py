"""A step of Adam in place, with one pass for the moments."""
# workload: f(randn(64, 65), randn(64, 65), randn(64, 65), rand(64, 65))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(p, g, m, v):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    p.sub_(1e-3 * (m / 0.1) / ((v / 0.001).sqrt() + 1e-8))
    return p

# %% candidate
import torch
import torch.nn.functional as F


def f(p, g, m, v):
    m.lerp_(g, 0.1)
    v.copy_(torch.addcmul(0.999 * v, g, g, value=0.001))
    p.addcdiv_(m, v.mul(1000.0).sqrt_().add_(1e-8), value=-0.01)
    return p
