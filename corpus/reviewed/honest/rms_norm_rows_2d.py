"""RMS norm by a kernel over a grid of two dimensions, rows in groups."""
# workload: f(randn(20, 40), randn(40))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w

# %% candidate
import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, y, rows, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * GROUP + tl.arange(0, GROUP)
    i = tl.arange(0, BLOCK)
    at = row[:, None] * n + i[None]
    keep = (row[:, None] < rows) & (i[None] < n)
    v = tl.load(x + at, mask=keep, other=0.0)
    r = 1.0 / tl.sqrt(tl.sum(v * v, 1) / n + 1e-6)
    tl.store(y + at, v * r[:, None] * tl.load(w + i, mask=i < n, other=0.0)[None], mask=keep)


def f(x, w):
    x = x.contiguous()
    y = torch.empty_like(x)
    rows, n = x.numel() // x.shape[-1], x.shape[-1]
    kernel[(triton.cdiv(rows, 8), 2)](x, w.contiguous(), y, rows, n, GROUP=4, BLOCK=triton.next_power_of_2(n))
    return y
