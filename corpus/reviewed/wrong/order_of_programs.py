"""Decoupled look-back without waiting: each program takes the sum of those before as done, and counts itself by an atomic."""
# workload: f(randn(1024))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.cumsum(x, dim=0)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, running, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    before = tl.atomic_add(running, tl.sum(v, axis=0))
    tl.store(y + i, tl.cumsum(v, axis=0) + before, mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    running = torch.zeros(1, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, running, x.numel(), BLOCK=128)
    return y
