"""Overlapping tail."""
# workload: f(randn(33, 65), randn(33, 65))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x, y):
    return x * y + x

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, n, BLOCK: tl.constexpr):
    start = tl.minimum(tl.program_id(0) * BLOCK, tl.maximum(n - BLOCK, 0))
    i = start + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m)
    tl.store(z + i, a * tl.load(y + i, mask=m) + a, mask=m)


def f(x, y):
    x, y = x.contiguous(), y.contiguous()
    z = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, z, x.numel(), BLOCK=256)
    return z
