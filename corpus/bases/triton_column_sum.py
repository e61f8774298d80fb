"""The sum of every column, each program adding its rows to the result with atomics."""

import torch
import triton
import triton.language as tl


@triton.jit
def column_sum_kernel(x_ptr, sums_ptr, rows, n, stride_row, stride_col, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (r[:, None] < rows) & (c[None, :] < n)
    x = tl.load(x_ptr + r[:, None] * stride_row + c[None, :] * stride_col, mask=mask, other=0.0)
    tl.atomic_add(sums_ptr + c, tl.sum(x, axis=0), mask=c < n)


# workload: column_sum(randn(4096, 1000))
# workload: column_sum(randn(130, 45))
def column_sum(x: torch.Tensor) -> torch.Tensor:
    rows, n = x.shape
    sums = torch.zeros(n, device=x.device, dtype=torch.float32)
    grid = (triton.cdiv(rows, 64), triton.cdiv(n, 32))
    column_sum_kernel[grid](x, sums, rows, n, x.stride(0), x.stride(1), ROWS=64, COLS=32)
    return sums
