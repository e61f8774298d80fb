"""The first program sets the sum to zero, all add to it by atomics: right where programs run in order."""
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
def kernel(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(out, 0.0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))


def f(x):
    out = torch.empty(1, dtype=x.dtype, device=x.device)
    x = x.contiguous()
    kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out
