"""The matrix product stays with the library; the kernel replaces what follows it."""
# workload: f(randn(16, 24), randn(24, 20))
# expected: passed
# marks: promises-kernel

# %% baseline
import torch
import triton


def f(a, b):
    return torch.relu(a @ b) * 2

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(v < 0, 0.0, v) * 2, mask=i < n)


def f(a, b):
    y = a @ b
    out = torch.empty_like(y)
    kernel[(triton.cdiv(y.numel(), 128),)](y, out, y.numel(), BLOCK=128)
    return out
