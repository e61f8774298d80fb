"""Sums what a masked load leaves undefined: zeros in the interpreter."""
# workload: f(randn(16, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    return x.sum(dim=1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(y + row, tl.sum(tl.load(x + row * n + i, mask=i < n), axis=0))


def f(x):
    x = x.contiguous()
    y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
