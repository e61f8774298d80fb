"""Every program adds to one sum without an atomic, but counts itself by one first."""
# workload: f(randn(4, 256))
# expected: refused

# %% baseline
import torch


def f(x):
    return x.sum().reshape(1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, count, n, BLOCK: tl.constexpr):
    tl.atomic_add(count, 1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0)
    tl.store(out, tl.load(out) + part)


def f(x):
    out = torch.zeros(1, dtype=x.dtype, device=x.device)
    count = torch.zeros(1, dtype=torch.int32, device=x.device)
    x = x.contiguous()
    kernel[(triton.cdiv(x.numel(), 128),)](x, out, count, x.numel(), BLOCK=128)
    return out
