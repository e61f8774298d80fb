"""Sort rows."""
# workload: f(randn(20, 64))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x):
    return x.sort(dim=1).values

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("inf"))
    tl.store(y + row * n + i, tl.sort(v), mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
