"""The last of equal maxima, across blocks."""
# workload: f(randn(24, 300))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x):
    return x.argmax(-1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best, place = -float("inf"), 0
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
        m = tl.max(v, 0)
        a = tl.argmax(v, 0) + s
        place = tl.where(m >= best, a, place)
        best = tl.maximum(m, best)
    tl.store(y + row, place.to(tl.int64))


def f(x):
    x = x.contiguous()
    y = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y
