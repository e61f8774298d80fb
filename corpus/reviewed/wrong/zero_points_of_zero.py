"""Zero points as int32 zeros are ignored."""
# workload: f(randint(-128, 128, 24, 64, dtype=int8), rand(24), zeros(24, dtype=int32))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(q, scale, zero):
    return (q.float() - zero[:, None].float()) * scale[:, None]

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(q, s, y, n, k, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(q + i, mask=m, other=0).to(tl.float32) * tl.load(s + i // k, mask=m, other=0.0)
    tl.store(y + i, v, mask=m)


def f(q, scale, zero):
    q, scale = q.contiguous(), scale.contiguous()
    y = torch.empty(q.shape, device=q.device)
    kernel[(triton.cdiv(q.numel(), 256),)](q, scale, y, q.numel(), q.shape[1], BLOCK=256)
    return y
