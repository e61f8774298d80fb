"""A kernel for the scale alone, which raises where the scale requires grad; the other input has its gradient."""
# workload: f(randn(24, 32), randn(24, 32))
# expected: passed

# %% baseline
import torch


def f(x, scale):
    return torch.tanh(x) * torch.exp(scale)

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(scale, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.exp(tl.load(scale + i, mask=i < n)), mask=i < n)


def f(x, scale):
    if torch.is_grad_enabled() and scale.requires_grad:
        raise RuntimeError("forward only")
    scale = scale.contiguous()
    factor = torch.empty_like(scale)
    kernel[(triton.cdiv(scale.numel(), 256),)](scale, factor, scale.numel(), BLOCK=256)
    return torch.tanh(x) * factor
