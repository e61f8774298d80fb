"""Counts by loading, adding and storing where lanes share an address: in the interpreter the last one wins as well, so one per block."""
# workload: f(randn(16, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.cumsum(x, dim=1)[:, -1].clone() / x.shape[1]

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, scratch, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    step = 1
    for _ in range(16):
        tl.store(scratch + row * BLOCK + i, v)
        v += tl.where(i >= step, tl.load(scratch + row * BLOCK + tl.maximum(i - step, 0)), 0.0)
        step *= 2
    tl.store(y + row + i * 0, v / n, mask=i == n - 1)


def f(x):
    x = x.contiguous()
    y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(x.shape[1])
    scratch = torch.empty(x.shape[0], block, dtype=x.dtype, device=x.device)
    kernel[(x.shape[0],)](x, y, scratch, x.shape[1], BLOCK=block)
    return y
