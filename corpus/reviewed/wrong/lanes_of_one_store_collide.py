"""All lanes store to one address, as if the last one came last."""
# workload: f(randn(16, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    return x[:, -1].clone()

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n)
    tl.store(y + row + i * 0, v, mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
