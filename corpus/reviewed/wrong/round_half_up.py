"""Floor(x + 0.5) for round half to even."""
# workload: f(randn(64, 40))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.clamp(torch.round(x / 0.05), -128, 127).to(torch.int8)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) / 0.05
    v = tl.minimum(tl.maximum(tl.floor(v + 0.5), -128.0), 127.0)
    tl.store(y + i, v.to(tl.int8), mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty(x.shape, dtype=torch.int8, device=x.device)
    kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
