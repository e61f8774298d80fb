"""Persistent relu."""
# workload: f(randn(33, 65), randn(65))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x, b):
    return torch.relu(x + b) * 2.0

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, b, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    tiles = tl.cdiv(rows, BR) * tl.cdiv(cols, BC)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        r = tile // tl.cdiv(cols, BC) * BR + tl.arange(0, BR)
        c = tile % tl.cdiv(cols, BC) * BC + tl.arange(0, BC)
        m = (r[:, None] < rows) & (c[None, :] < cols)
        v = tl.load(x + r[:, None] * cols + c[None, :], mask=m) + tl.load(b + c, mask=c < cols)[None, :]
        tl.store(y + r[:, None] * cols + c[None, :], tl.where(v < 0, 0.0, v) * 2.0, mask=m)


def f(x, b):
    x, b = x.contiguous(), b.contiguous()
    y = torch.empty_like(x)
    kernel[(5,)](x, b, y, x.shape[0], x.shape[1], BR=8, BC=32)
    return y
