"""Flash causal."""
# workload: f(randn(1, 2, 33, 16), randn(1, 2, 33, 16), randn(1, 2, 33, 16))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


import math


def f(q, k, v):
    n = q.shape[2]
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    m = torch.tril(torch.ones(n, n, dtype=torch.bool, device=q.device))
    return torch.softmax(s.masked_fill(~m, float("-inf")), dim=-1) @ v

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(q, k, v, o, N, scale, H, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1) * N * H
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + base + m[:, None] * H + d[None, :], mask=(m[:, None] < N) & (d[None, :] < H), other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for s in range(0, tl.minimum((tl.program_id(0) + 1) * BM, N), BN):
        n = s + tl.arange(0, BN)
        y = tl.load(k + base + n[None, :] * H + d[:, None], mask=(n[None, :] < N) & (d[:, None] < H), other=0.0)
        a = tl.dot(x, y, input_precision="ieee") * (scale * 1.4426950408889634)
        a = tl.where((m[:, None] >= n[None, :]) & (n[None, :] < N), a, -float("inf"))
        t = tl.maximum(top, tl.max(a, axis=1))
        p = tl.exp2(a - t[:, None])
        c = tl.exp2(top - t)
        z = tl.load(v + base + n[:, None] * H + d[None, :], mask=(n[:, None] < N) & (d[None, :] < H), other=0.0)
        acc = acc * c[:, None] + tl.dot(p, z, input_precision="ieee")
        l = l * c + tl.sum(p, axis=1)
        top = t
    tl.store(o + base + m[:, None] * H + d[None, :], acc / l[:, None], mask=(m[:, None] < N) & (d[None, :] < H))


def f(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    b, h, n, d = q.shape
    o = torch.empty_like(q)
    kernel[(triton.cdiv(n, 16), b * h)](q, k, v, o, n, d ** -0.5, d, D=max(16, triton.next_power_of_2(d)), BM=16, BN=16)
    return o
