"""Triton half inside."""
# workload: f(randn(20, 40), randn(40, 24))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(a, b):
    return (a.half() @ b.half()).float()

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    t = tl.zeros((BM, BN), tl.float32)
    for s in range(0, K, BK):
        k = s + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        t += tl.dot(x.to(tl.float16), y.to(tl.float16))
    tl.store(c + m[:, None] * N + n[None, :], t, mask=(m[:, None] < M) & (n[None, :] < N))


def f(a, b):
    a, b = a.contiguous(), b.contiguous()
    c = torch.empty(a.shape[0], b.shape[1], dtype=torch.float32, device=a.device)
    kernel[(triton.cdiv(a.shape[0], 16), triton.cdiv(b.shape[1], 16))](a, b, c, *c.shape, a.shape[1], BM=16, BN=16, BK=16)
    return c
