"""A convolution of three taps along each row, with zeros beyond the ends, and a bias."""

import torch
import triton
import triton.language as tl


@triton.jit
def stencil_kernel(x_ptr, taps_ptr, y_ptr, row_stride, col_stride, n, bias, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x_ptr += row * row_stride
    inside = cols < n
    left = tl.load(x_ptr + (cols - 1) * col_stride, mask=(cols >= 1) & inside, other=0.0)
    centre = tl.load(x_ptr + cols * col_stride, mask=inside, other=0.0)
    right = tl.load(x_ptr + (cols + 1) * col_stride, mask=cols + 1 < n, other=0.0)
    y = tl.load(taps_ptr) * left + tl.load(taps_ptr + 1) * centre + tl.load(taps_ptr + 2) * right
    tl.store(y_ptr + row * n + cols, y - bias, mask=inside)


# workload: stencil(randn(2048, 1500), randn(3), 0.25)
# workload: stencil(randn(100, 260, layout=transposed), randn(3), 0.0)
def stencil(x: torch.Tensor, taps: torch.Tensor, bias: float) -> torch.Tensor:
    rows, n = x.shape
    y = torch.empty((rows, n), device=x.device, dtype=x.dtype)
    BLOCK = 256
    grid = (rows, triton.cdiv(n, BLOCK))
    stencil_kernel[grid](x, taps, y, x.stride(0), x.stride(1), n, bias, BLOCK=BLOCK)
    return y
