"""A group of more than 512 elements is cut off: 14 x 14 is never varied."""
# workload: f(randn(2, 8, 14, 14), randn(8), randn(8))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w, b):
    return F.group_norm(x, 4, w, b)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, b, y, C, G, HW, CG, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    n, g = p // G, p % G
    i = tl.arange(0, BLOCK)
    m = i < CG * HW
    base = (n * C + g * CG) * HW
    v = tl.load(x + base + i, mask=m, other=0.0)
    k = CG * HW
    mean = tl.sum(v, 0) / k
    d = tl.where(m, v - mean, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / k + 1e-5)
    c = g * CG + i // HW
    tl.store(y + base + i, d * r * tl.load(w + c, mask=m) + tl.load(b + c, mask=m), mask=m)


def f(x, w, b):
    x, w, b = x.contiguous(), w.contiguous(), b.contiguous()
    N, C, Hh, W = x.shape
    G = 4
    y = torch.empty_like(x)
    kernel[(N * G,)](x, w, b, y, C, G, Hh * W, C // G, BLOCK=512)
    return y
