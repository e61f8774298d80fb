"""Softmax over rows of any length, straight from the formula: maximum, sum of exponentials, division."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    """One program per row, three passes over it."""
    row = tl.program_id(0)
    x_ptr += row * row_stride
    out_ptr += row * n_cols

    # First pass: the maximum of the row.
    row_max = -float("inf")
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=-float("inf")).to(tl.float32)
        row_max = tl.maximum(row_max, tl.max(x, axis=0))

    # Second pass: the sum of the exponentials.
    denominator = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=-float("inf")).to(tl.float32)
        denominator += tl.sum(tl.exp(x - row_max), axis=0)

    # Third pass: the result.
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask).to(tl.float32)
        y = tl.exp(x - row_max) / denominator
        tl.store(out_ptr + cols, y, mask=mask)


# workload: softmax(randn(8192, 8192))
# workload: softmax(randn(127, 781, dtype=float16))
# workload: softmax(randn(5, 2500))
# workload: softmax(randn(3, 1))
def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty((n_rows, n_cols), device=x.device, dtype=x.dtype)
    softmax_kernel[(n_rows,)](x, out, x.stride(0), n_cols, BLOCK=1024)
    return out
