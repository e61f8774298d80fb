"""A global number, a break and a list comprehension: Python in the interpreter, refused by the compiler."""
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

BLOCK = 64


@triton.jit
def kernel(x, y, n):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, 1 << 20, BLOCK):
        if start >= n:
            break
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * n + i, mask=i < n, other=0.0), axis=0)
    total = sum([total])
    tl.store(y + row, total)


def f(x):
    x = x.contiguous()
    y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    kernel[(x.shape[0],)](x, y, x.shape[1])
    return y
