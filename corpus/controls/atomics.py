"""Partial sums added with atomics: the order differs, the result hardly."""
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
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))


def f(x):
    x = x.contiguous()
    out = torch.zeros(1, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
