"""Rotary embedding by complex numbers."""
# workload: f(randn(2, 33, 4, 16))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x):
    n, d = x.shape[1], x.shape[-1] // 2
    a = torch.arange(n, device=x.device)[:, None] * 10000.0 ** (-torch.arange(d, device=x.device) / d)
    c, s = a.cos()[:, None], a.sin()[:, None]
    even, odd = x[..., : 2 * d : 2], x[..., 1 : 2 * d : 2]
    return torch.stack((even * c - odd * s, even * s + odd * c), -1).flatten(-2)

# %% candidate
import torch
import torch.nn.functional as F


def f(x):
    n, d = x.shape[1], x.shape[-1] // 2
    a = torch.arange(n, device=x.device)[:, None] * 10000.0 ** (-torch.arange(d, device=x.device) / d)
    z = torch.view_as_complex(x[..., : 2 * d].reshape(*x.shape[:-1], d, 2).contiguous())
    turned = z * torch.polar(torch.ones_like(a), a).to(z.dtype)[:, None]
    return torch.view_as_real(turned).flatten(-2)
