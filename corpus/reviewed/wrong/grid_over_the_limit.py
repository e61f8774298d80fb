"""Rows along the second axis of the grid, which ends at 65,535: the workload has more, and the interpreter fewer."""
# workload: f(randn(100000, 8))
# expected: refused

# %% baseline
import torch


def f(x):
    return x * 2

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(y + row * n + i, v * 2, mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(1, x.shape[0])](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
