"""A product that rounds to TF32, as its baseline does, in other blocks."""
# workload: f(randn(20, 80), randn(80, 24))
# expected: passed
# marks: promises-kernel

# %% baseline
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def f(a, b):
    a, b = a.contiguous(), b.contiguous()
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(c.shape[0], 16), triton.cdiv(c.shape[1], 16))
    kernel[grid](a, b, c, *c.shape, a.shape[1], BM=16, BN=16, BK=16)
    return c

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def f(a, b):
    a, b = a.contiguous(), b.contiguous()
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(c.shape[0], 32), triton.cdiv(c.shape[1], 32))
    kernel[grid](a, b, c, *c.shape, a.shape[1], BM=32, BN=32, BK=64)
    return c
