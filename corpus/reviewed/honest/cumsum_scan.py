"""Cumsum scan."""
# workload: f(randn(20, 100))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x):
    return x.cumsum(1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0)
        tl.store(y + row * n + i, tl.cumsum(v, axis=0) + carry, mask=i < n)
        carry += tl.sum(v, axis=0)


def f(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
    return y
