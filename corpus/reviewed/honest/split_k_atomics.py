"""Split k atomics."""
# workload: f(randn(20, 130), randn(130, 24))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(a, b):
    return a @ b

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def part(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    s = tl.program_id(2)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(s * BK, K, S * BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + (m[:, None] % M) * K + k[None, :], mask=k[None, :] < K, other=0.0)
        y = tl.load(b + k[:, None] * N + (n[None, :] % N), mask=k[:, None] < K, other=0.0)
        total += tl.dot(x, y, input_precision="ieee")
    tl.atomic_add(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def f(a, b):
    a, b = a.contiguous(), b.contiguous()
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, device=a.device, dtype=a.dtype)
    part[(triton.cdiv(M, 16), triton.cdiv(N, 16), 3)](a, b, c, M, N, K, BM=16, BN=16, BK=16, S=3)
    return c
