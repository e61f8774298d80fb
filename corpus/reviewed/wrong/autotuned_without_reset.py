"""Adds into zeros by atomics under autotune, without reset_to_zero: what the tuner's own launches add stays."""
# workload: f(randn(16, 300))
# expected: refused

# %% baseline
import torch


def f(x):
    return x.sum(dim=1)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + row, tl.sum(tl.load(x + row * n + i, mask=i < n, other=0.0), axis=0))


def f(x):
    x = x.contiguous()
    y = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device)
    kernel[lambda meta: (x.shape[0], triton.cdiv(x.shape[1], meta["BLOCK"]))](x, y, x.shape[1])
    return y
