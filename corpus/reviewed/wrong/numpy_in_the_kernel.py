"""The kernel reaches into the interpreter's own values with numpy; there is nothing of the kind on a GPU."""
# workload: f(randn(16, 64))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.sort(x, dim=1).values

# %% candidate
import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=float("inf"))
    v.handle.data = np.sort(v.handle.data)
    tl.store(y + row * n + i, v, mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
