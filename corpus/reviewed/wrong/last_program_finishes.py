"""The program with the last number divides the sum, as if it ran last."""
# workload: f(randn(4, 256))
# expected: refused

# %% baseline
import torch


def f(x):
    return x.mean().reshape(1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, acc, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(acc, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))
    if pid == tl.num_programs(0) - 1:
        tl.store(out, tl.load(acc) / n)


def f(x):
    acc = torch.zeros(1, dtype=x.dtype, device=x.device)
    out = torch.empty(1, dtype=x.dtype, device=x.device)
    x = x.contiguous()
    kernel[(triton.cdiv(x.numel(), 128),)](x, acc, out, x.numel(), BLOCK=128)
    return out
