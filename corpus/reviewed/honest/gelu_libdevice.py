"""Gelu libdevice."""
# workload: f(randn(33, 65))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


import torch.nn.functional as F


def f(x):
    return F.gelu(x, approximate="tanh")

# %% candidate
import torch
import triton
import triton.language as tl


from triton.language.extra import libdevice


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n).to(tl.float32)
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    tl.store(y + i, 0.5 * v * (1.0 + libdevice.tanh(u)), mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
