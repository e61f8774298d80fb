"""Split k two kernels."""
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
    pid = tl.program_id(0)
    s = tl.program_id(1)
    nb = tl.cdiv(N, BN)
    m = pid // nb * BM + tl.arange(0, BM)
    n = pid % nb * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(s * BK, K, S * BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(c + s * M * N + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def join(c, o, size, S: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    t = tl.zeros((BLOCK,), tl.float32)
    for s in tl.static_range(S):
        t += tl.load(c + s * size + i, mask=i < size, other=0.0)
    tl.store(o + i, t, mask=i < size)


def f(a, b):
    a, b = a.contiguous(), b.contiguous()
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(4, M, N, device=a.device, dtype=torch.float32)
    o = torch.empty(M, N, device=a.device, dtype=a.dtype)
    part[(triton.cdiv(M, 16) * triton.cdiv(N, 16), 4)](a, b, c, M, N, K, BM=16, BN=16, BK=16, S=4)
    join[(triton.cdiv(M * N, 256),)](c, o, M * N, S=4, BLOCK=256)
    return o
