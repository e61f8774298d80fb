"""Rows of a table picked by token number, scaled by the square root of their length, plus a position's row."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(
    tokens_ptr, table_ptr, position_ptr, y_ptr, length, table_stride, width, scale, BLOCK: tl.constexpr
):
    token = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < width
    number = tl.load(tokens_ptr + token).to(tl.int64)
    row = tl.load(table_ptr + number * table_stride + cols, mask=mask)
    position = tl.load(position_ptr + (token % length) * width + cols, mask=mask)
    tl.store(y_ptr + token * width + cols, row * scale + position, mask=mask)


# workload: embedding(randint(0, 5000, 8, 256), randn(5000, 512), randn(256, 512))
# workload: embedding(randint(0, 30, 3, 19), randn(30, 70), randn(19, 70))
def embedding(tokens: torch.Tensor, table: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    batch, length = tokens.shape
    width = table.shape[1]
    y = torch.empty((batch, length, width), device=table.device, dtype=table.dtype)
    grid = (batch * length, triton.cdiv(width, 256))
    embedding_kernel[grid](
        tokens, table, positions, y, length, table.stride(0), width, math.sqrt(width), BLOCK=256
    )  # fmt: skip
    return y
