"""Layernorm welford."""
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
def combine(m1, v1, n1, m2, v2, n2):
    d = m2 - m1
    n = n1 + n2
    r = tl.where(n == 0.0, 0.0, n2 / n)
    return m1 + d * r, v1 + v2 + d * d * n1 * r, n


@triton.jit
def kernel(x, w, b, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.zeros((BLOCK,), tl.float32)
    m2 = tl.zeros((BLOCK,), tl.float32)
    count = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        m = i < n
        v = tl.load(x + row * n + i, mask=m, other=0.0)
        nc = count + tl.where(m, 1.0, 0.0)
        d = v - mean
        nm = tl.where(m, mean + d / tl.where(nc == 0.0, 1.0, nc), mean)
        m2 = tl.where(m, m2 + d * (v - nm), m2)
        mean = nm
        count = nc
    mu, q, _ = tl.reduce((mean, m2, count), 0, combine)
    r = 1.0 / tl.sqrt(q / n + 1e-5)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        m = i < n
        v = tl.load(x + row * n + i, mask=m, other=0.0)
        tl.store(y + row * n + i, (v - mu) * r * tl.load(w + i, mask=m) + tl.load(b + i, mask=m), mask=m)


def f(x, w, b):
    x = x.contiguous()
    w, b = w.contiguous(), b.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, w, b, y, x.shape[1], BLOCK=32)
    return y
