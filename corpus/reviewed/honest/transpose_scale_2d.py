"""A tiled transposition with a scale, over a grid of two dimensions."""
# workload: f(randn(40, 36))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x):
    return (x * 0.5).t().contiguous()

# %% candidate
import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + m[:, None] * N + n[None], mask=(m[:, None] < M) & (n[None] < N), other=0.0)
    tl.store(y + n[:, None] * M + m[None], tl.trans(v) * 0.5, mask=(n[:, None] < N) & (m[None] < M))


def f(x):
    x = x.contiguous()
    M, N = x.shape
    y = torch.empty(N, M, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, y, M, N, B=16)
    return y
