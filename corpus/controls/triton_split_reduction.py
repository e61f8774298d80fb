"""Two kernels: partial sums per program, then their sum."""
# workload: f(randn(4, 300))
# expected: passed
# marks: promises-kernel

# %% baseline
import torch
import triton


def f(x):
    return x.sum().reshape(1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def partial(x, parts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))


@triton.jit
def final(parts, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.sum(tl.load(parts + i, mask=i < n, other=0.0), axis=0), mask=i < 1)


def f(x):
    x = x.contiguous()
    programs = triton.cdiv(x.numel(), 256)
    parts, out = (torch.empty(size, dtype=x.dtype, device=x.device) for size in (programs, 1))
    partial[(programs,)](x, parts, x.numel(), BLOCK=256)
    final[(1,)](parts, out, programs, BLOCK=triton.next_power_of_2(programs))
    return out
