"""Labels of -100 are read before the tensor."""
# workload: f(randn(16, 40), randint(0, 40, 16))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, y):
    return torch.nn.functional.cross_entropy(x, y)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, loss, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    m = tl.max(v, 0)
    lse = m + tl.log(tl.sum(tl.exp(v - m), 0))
    t = tl.load(x + row * n + tl.load(y + row))
    tl.store(loss + row, lse - t)


def f(x, y):
    x, y = x.contiguous(), y.contiguous()
    loss = torch.empty(x.shape[0], device=x.device)
    kernel[(x.shape[0],)](x, y, loss, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return loss.mean()
