"""Argmax rows."""
# workload: f(randn(20, 100))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


def f(x):
    return x.argmax(1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    tl.store(y + row, tl.argmax(v, axis=0).to(tl.int64))


def f(x):
    x = x.contiguous()
    y = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
