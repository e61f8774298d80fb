"""Conv1d direct."""
# workload: f(randn(2, 4, 65), randn(6, 4, 3))
# expected: passed

# %% baseline
import torch
import triton
import triton.language as tl


import torch.nn.functional as F


def f(x, w):
    return F.conv1d(x, w, padding=1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, y, L, C, O, BLOCK: tl.constexpr, T: tl.constexpr):
    b = tl.program_id(0) // O
    o = tl.program_id(0) % O
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for c in range(C):
        for k in tl.static_range(T):
            j = i + k - T // 2
            v = tl.load(x + (b * C + c) * L + j, mask=(j >= 0) & (j < L), other=0.0)
            acc += v * tl.load(w + (o * C + c) * T + k)
    tl.store(y + (b * O + o) * L + i, acc, mask=i < L)


def f(x, w):
    x, w = x.contiguous(), w.contiguous()
    b, c, l = x.shape
    y = torch.empty(b, w.shape[0], l, device=x.device, dtype=x.dtype)
    kernel[(b * w.shape[0], triton.cdiv(l, 32))](x, w, y, l, c, w.shape[0], BLOCK=32, T=3)
    return y
