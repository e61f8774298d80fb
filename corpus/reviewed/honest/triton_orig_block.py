"""Triton orig block."""
# workload: f(randn(20, 100))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    mean = tl.sum(v, axis=0) / n
    c = tl.where(i < n, v - mean, 0.0)
    tl.store(y + row, tl.sum(c * c, axis=0) / n)


def f(x):
    y = torch.empty(x.shape[0], device=x.device)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, rows, n, R: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * R + tl.arange(0, R)
    s = tl.zeros((R,), tl.float32)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        m = (row[:, None] < rows) & (i[None, :] < n)
        s += tl.sum(tl.load(x + row[:, None] * n + i[None, :], mask=m, other=0.0), axis=1)
    mean = s / n
    q = tl.zeros((R,), tl.float32)
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        m = (row[:, None] < rows) & (i[None, :] < n)
        c = tl.where(m, tl.load(x + row[:, None] * n + i[None, :], mask=m, other=0.0) - mean[:, None], 0.0)
        q += tl.sum(c * c, axis=1)
    tl.store(y + row, q / n, mask=row < rows)


def f(x):
    y = torch.empty(x.shape[0], device=x.device)
    kernel[(triton.cdiv(x.shape[0], 4),)](x, y, *x.shape, R=4, BLOCK=32)
    return y
