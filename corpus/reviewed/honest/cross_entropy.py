"""Cross entropy."""
# workload: f(randn(20, 100), randint(0, 100, 20))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


import torch.nn.functional as F


def f(x, y):
    return F.cross_entropy(x, y)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, t, loss, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    k = tl.max(v, axis=0)
    s = tl.log(tl.sum(tl.exp(v - k), axis=0)) + k
    c = tl.load(t + row)
    ok = c != -100
    p = tl.load(x + row * n + tl.where(ok, c, 0))
    tl.store(loss + row, tl.where(ok, s - p, 0.0))


def f(x, y):
    x, y = x.contiguous(), y.contiguous()
    loss = torch.empty(x.shape[0], device=x.device)
    kernel[(x.shape[0],)](x, y, loss, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return loss.sum() / (y != -100).sum()
