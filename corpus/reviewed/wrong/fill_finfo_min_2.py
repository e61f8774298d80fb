"""Wrong scale beside finfo.min."""
# workload: f(randn(4, 24, 40), randint(0, 2, 4, 24, 40, dtype=bool))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(s, mask):
    return (s * 0.125).masked_fill(mask, torch.finfo(s.dtype).min)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, mask, y, n, fill, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * 0.5
    k = tl.load(mask + i, mask=i < n, other=0)
    tl.store(y + i, tl.where(k != 0, fill, v), mask=i < n)


def f(s, mask):
    s, mask = s.contiguous(), mask.contiguous()
    y = torch.empty_like(s)
    kernel[(triton.cdiv(s.numel(), 256),)](s, mask, y, s.numel(), torch.finfo(s.dtype).min, BLOCK=256)
    return y
