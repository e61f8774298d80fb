"""Row stride x.stride(-2) over all leading dimensions: wrong for x[:, :12]."""
# workload: f(randn(4, 16, 20))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return torch.softmax(x, -1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    e = tl.where(v != v, v, e)
    tl.store(y + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


def f(x):
    if x.stride(-1) != 1:
        x = x.contiguous()
    n = x.shape[-1]
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    kernel[(x.numel() // n,)](x, y, n, x.stride(-2), BLOCK=triton.next_power_of_2(n))
    return y
