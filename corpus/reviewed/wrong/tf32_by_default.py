"""Tl.dot of float32 with its default precision, which is TF32 on a GPU."""
# workload: f(randn(64, 64), randn(64, 48))
# expected: refused

# %% baseline
import torch


def f(a, b):
    return a @ b

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def f(a, b):
    a, b = a.contiguous(), b.contiguous()
    c = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(c.shape[0], 32), triton.cdiv(c.shape[1], 32))
    kernel[grid](a, b, c, c.shape[0], c.shape[1], a.shape[1], B=32)
    return c
