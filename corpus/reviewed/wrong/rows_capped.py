"""128 programs at most, and no loop over rows."""
# workload: f(randn(48, 40))
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
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(min(x.shape[0], 128),)](x, y, x.shape[1], x.stride(0), BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
