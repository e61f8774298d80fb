"""Grad_output is taken for contiguous: wrong (and out of bounds) after .sum().backward() or a transpose."""
# workload: f(randn(48, 40, requires_grad=True))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.sigmoid(x) * x

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def fwd(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


@triton.jit
def bwd(x, g, d, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v, u = tl.load(x + i, mask=i < n), tl.load(g + i, mask=i < n)
    s = tl.sigmoid(v)
    tl.store(d + i, u * s * (1 + v * (1 - s)), mask=i < n)


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        fwd[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        d = torch.empty_like(x)
        bwd[(triton.cdiv(x.numel(), 256),)](x, g, d, x.numel(), BLOCK=256)
        return d


def f(x):
    return Silu.apply(x)
