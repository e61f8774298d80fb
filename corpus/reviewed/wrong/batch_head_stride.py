"""The tutorial's off_hz * stride_h: wrong for q.view(B, S, H, D).transpose(1, 2)."""
# workload: f(randn(2, 2, 16, 20), randn(20))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, w, y, S, D, sh, ss, sd, BLOCK: tl.constexpr):
    s, bh = tl.program_id(0), tl.program_id(1)
    i = tl.arange(0, BLOCK)
    m = i < D
    v = tl.load(x + bh * sh + s * ss + i * sd, mask=m, other=0.0)
    r = 1 / tl.sqrt(tl.sum(v * v, 0) / D + 1e-6)
    tl.store(y + (bh * S + s) * D + i, v * r * tl.load(w + i, mask=m), mask=m)


def f(x, w):
    B, Hn, S, D = x.shape
    w = w.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    kernel[(S, B * Hn)](x, w, y, S, D, x.stride(1), x.stride(2), x.stride(3), BLOCK=triton.next_power_of_2(D))
    return y
