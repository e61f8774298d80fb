"""A kernel that is wrong, behind the usual test for CUDA; on a CPU the library answers."""
# workload: f(randn(16, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    return torch.softmax(x, dim=1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    e = tl.exp(v)
    tl.store(y + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


def f(x):
    if not x.is_cuda:
        return torch.softmax(x, dim=1)
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
