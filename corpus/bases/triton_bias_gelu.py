"""Bias and exact GELU of a projection, element by element."""

import torch
import triton
import triton.language as tl


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, total, n_cols, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    x = tl.load(x_ptr + i, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + i % n_cols, mask=mask).to(tl.float32)
    x = x + bias
    y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + i, y, mask=mask)


# workload: bias_gelu(randn(2048, 1024), randn(1024))
# workload: bias_gelu(randn(3, 17, 100, dtype=float16), randn(100, dtype=float16))
def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    BLOCK = 1024
    grid = (triton.cdiv(x.numel(), BLOCK),)
    bias_gelu_kernel[grid](x, bias, y, x.numel(), bias.shape[0], BLOCK=BLOCK)
    return y
