"""Bf16 rms fp32."""
# workload: f(randn(20, 100, dtype=bfloat16), rand(100, dtype=bfloat16))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x, g):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, g, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, axis=0) / n + 1e-6)
    w = tl.load(g + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + row * n + i, (v * r * w).to(tl.bfloat16), mask=i < n)


def f(x, g):
    x, g = x.contiguous(), g.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, g, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
