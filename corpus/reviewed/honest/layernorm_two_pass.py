"""Layernorm two pass."""
# workload: f(randn(20, 100), randn(100), randn(100))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


import torch.nn.functional as F


def f(x, w, b):
    return F.layer_norm(x, (x.shape[1],), w, b)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + row * n + i, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / n
    c = tl.where(m, v - mean, 0.0)
    r = 1.0 / tl.sqrt(tl.sum(c * c, axis=0) / n + 1e-5)
    g = tl.load(w + i, mask=m, other=0.0)
    h = tl.load(b + i, mask=m, other=0.0)
    tl.store(y + row * n + i, c * r * g + h, mask=m)


def f(x, w, b):
    x = x.contiguous()
    w, b = w.contiguous(), b.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, w, b, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
