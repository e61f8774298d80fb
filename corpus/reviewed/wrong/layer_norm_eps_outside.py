"""Eps outside of the root."""
# workload: f(randn(64, 96), randn(96), randn(96))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, b):
    return F.layer_norm(x, x.shape[-1:], w, b)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + row * n + i, mask=m, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(m, v - mean, 0.0)
    r = 1 / (tl.sqrt(tl.sum(d * d, 0) / n) + 1e-5)
    tl.store(y + row * n + i, d * r * tl.load(w + i, mask=m) + tl.load(b + i, mask=m), mask=m)


def f(x, w, b):
    x, w, b = x.contiguous(), w.contiguous(), b.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, w, b, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
