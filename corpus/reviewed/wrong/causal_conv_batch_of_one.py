"""Four taps fixed, and the channel of a row is right for a batch of one only."""
# workload: f(randn(1, 16, 40), randn(16, 4))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w):
    k = w.shape[1]
    return F.conv1d(F.pad(x, (k - 1, 0)), w[:, None], groups=x.shape[1])

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, y, L, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.program_id(1)
    i = j * BLOCK + tl.arange(0, BLOCK)
    c = row % tl.num_programs(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(4):
        s = i - 3 + k
        acc += tl.load(x + row * L + s, mask=(s >= 0) & (s < L), other=0.0) * tl.load(w + c * 4 + k)
    tl.store(y + row * L + i, acc, mask=i < L)


def f(x, w):
    x, w = x.contiguous(), w.contiguous()
    y = torch.empty_like(x)
    kernel[(x.shape[0] * x.shape[1], triton.cdiv(x.shape[2], 64))](x, w, y, x.shape[2], BLOCK=64)
    return y
