"""The same Triton kernel with other blocks."""
# workload: f(randn(300), randn(300))
# expected: passed
# marks: promises-kernel

# %% baseline
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def f(x, y):
    z = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, z, x.numel(), BLOCK=128)
    return z

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def f(x, y):
    z = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)](x, y, z, x.numel(), BLOCK=64)
    return z
