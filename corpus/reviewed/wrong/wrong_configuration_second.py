"""Two configurations: with the first a row fits into a block, with the second only its beginning is computed."""
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


@triton.autotune(configs=[triton.Config({"BLOCK": 4096}), triton.Config({"BLOCK": 64}, num_warps=2)], key=["n"])
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + i, e / tl.sum(e, axis=0), mask=i < n)


def f(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1])
    return y
