"""The same where it shows."""
# workload: f(randn(1, 4, 24, 16), randn(1, 2, 24, 16), randn(1, 2, 24, 16))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, k, v):
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(q, k, v, o, S, D, HQ, HK, scale, BS: tl.constexpr, BD: tl.constexpr):
    row, h = tl.program_id(0), tl.program_id(1)
    i, j = tl.arange(0, BS), tl.arange(0, BD)
    kh = h % HK
    qq = tl.load(q + (h * S + row) * D + j, mask=j < D, other=0.0)
    m = (i[:, None] < S) & (j[None] < D)
    kk = tl.load(k + (kh * S + i[:, None]) * D + j[None], mask=m, other=0.0)
    vv = tl.load(v + (kh * S + i[:, None]) * D + j[None], mask=m, other=0.0)
    s = tl.where(i <= row, tl.sum(qq[None] * kk, 1) * scale, -float("inf"))
    e = tl.exp(s - tl.max(s, 0))
    tl.store(o + (h * S + row) * D + j, tl.sum(e[:, None] * vv, 0) / tl.sum(e, 0), mask=j < D)


def f(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, HQ, S, D = q.shape
    o = torch.empty_like(q)
    kernel[(S, HQ)](q, k, v, o, S, D, HQ, k.shape[1], D ** -0.5, BS=triton.next_power_of_2(S), BD=triton.next_power_of_2(D))
    return o
