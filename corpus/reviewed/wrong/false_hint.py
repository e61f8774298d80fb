"""Promises the compiler that rows begin at multiples of 16 elements, which is so for few lengths."""
# workload: f(randn(16, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):

    start = tl.multiple_of(tl.program_id(0) * n, 16)
    i = tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    v = tl.load(x + start + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + start + i, e / tl.sum(e, axis=0), mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
