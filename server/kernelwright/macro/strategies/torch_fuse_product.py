"""Makes one Triton kernel of a matrix product and the operations that follow it."""

from kernelwright.macro.nests import fusion
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.nested import product_regions

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer with a scaled activation."""

    def __init__(self, inputs, features, scale):
        super().__init__()
        self.linear = nn.Linear(inputs, features)
        self.scale = scale

    def forward(self, x):
        x = torch.relu(self.linear(x))
        return x * self.scale


def get_inputs():
    return [torch.randn(70, 100)]


def get_init_inputs():
    return [100, 50, 0.5]
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fp16_parts_kernel(
    x_ptr,
    high_ptr,
    low_ptr,
    scale_ptr,
    n_lines,
    depth,
    padded,
    batch_stride,
    line_stride,
    inner_stride,
    LINES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Two fp16 parts of each line, scaled by a power of two; the low one times 2**11."""
    batch = tl.program_id(1).to(tl.int64)
    lines = tl.program_id(0).to(tl.int64) * LINES + tl.arange(0, LINES)[:, None]
    x_ptr += batch * batch_stride + lines * line_stride
    x = tl.zeros([LINES, BLOCK], dtype=tl.float32)
    largest = tl.zeros([LINES, 1], dtype=tl.int32)
    for start in range(0, depth, BLOCK):
        inner = start + tl.arange(0, BLOCK)[None, :]
        mask = (lines < n_lines) & (inner < depth)
        x = tl.load(x_ptr + inner * inner_stride, mask=mask, other=0.0).to(tl.float32)
        bits = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
        bits = tl.where(bits < 0x7F800000, bits, 0)
        largest = tl.maximum(largest, tl.max(bits, axis=1, keep_dims=True))
    exponent = tl.maximum(largest >> 23, 15)
    scale = ((268 - exponent) << 23).to(tl.float32, bitcast=True)
    inverse = ((exponent - 14) << 23).to(tl.float32, bitcast=True)
    place = batch * n_lines + lines
    tl.store(scale_ptr + place, inverse, mask=lines < n_lines)
    for start in range(0, padded, BLOCK):
        inner = start + tl.arange(0, BLOCK)[None, :]
        if depth > BLOCK:
            mask = (lines < n_lines) & (inner < depth)
            x = tl.load(x_ptr + inner * inner_stride, mask=mask, other=0.0).to(tl.float32)
        high = (x * scale).to(tl.float16)
        low = ((x * scale - high.to(tl.float32)) * 2.0**11).to(tl.float16)
        mask = (lines < n_lines) & (inner < padded)
        tl.store(high_ptr + place * padded + inner, high, mask=mask)
        tl.store(low_ptr + place * padded + inner, low, mask=mask)


def fp16_parts(x, batches, n_lines, depth, padded, strides):
    """The high and low fp16 parts of the lines of x, padded along them, and their scales."""
    high = x.new_empty((batches * n_lines, padded), dtype=torch.float16)
    low = x.new_empty((batches * n_lines, padded), dtype=torch.float16)
    scale = x.new_empty(batches * n_lines, dtype=torch.float32)
    # A line that fits into a block is read once; lines that lie side by side are read together.
    adjacent = strides[2] == 1
    block = min(triton.next_power_of_2(padded), 16384 if adjacent else 4096)
    lines = max(4096 // block, 1) if adjacent else max(16384 // block, 8)
    grid = (triton.cdiv(n_lines, lines), batches)
    fp16_parts_kernel[grid](
        x,
        high,
        low,
        scale,
        n_lines,
        depth,
        padded,
        *strides,
        LINES=lines,
        BLOCK=block,
        num_warps=8,
    )
    return high, low, scale


@triton.jit
def linear_relu_mul_kernel(
    left_ptr,
    right_high_ptr,
    right_low_ptr,
    right_scale_ptr,
    bias_ptr,
    out_ptr,
    n_rows,
    n_columns,
    depth,
    left_line_stride,
    left_inner_stride,
    padded,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
):
    """Linear, ReLU and multiply, a tile of ROWS by COLUMNS a program."""
    column_tiles = tl.cdiv(n_columns, COLUMNS)
    tile = tl.program_id(0)
    first = tile // (GROUP * column_tiles) * GROUP
    height = tl.minimum(tl.cdiv(n_rows, ROWS) - first, GROUP)
    number = tile % (GROUP * column_tiles)
    rows = (first + number % height) * ROWS + tl.arange(0, ROWS)[:, None]
    columns = (number // height) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    left_ptr += (rows % n_rows).to(tl.int64) * left_line_stride
    inner = tl.arange(0, DEPTH)[:, None]
    right_line = (columns % n_columns).to(tl.int64)
    right_high_ptr += right_line * padded + inner
    right_low_ptr += right_line * padded + inner
    right_scale = tl.load(right_scale_ptr + right_line)
    product = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for start in range(0, padded, DEPTH):
        position = start + tl.arange(0, DEPTH)[None, :]
        block = tl.load(
            left_ptr + position * left_inner_stride, mask=position < depth, other=0.0
        )
        block = block.to(tl.float32)
        bits = block.to(tl.int32, bitcast=True) & 0x7FFFFFFF
        largest = tl.max(tl.where(bits < 0x7F800000, bits, 0), axis=1, keep_dims=True)
        exponent = tl.maximum(largest >> 23, 15)
        block *= ((268 - exponent) << 23).to(tl.float32, bitcast=True)
        left_high = block.to(tl.float16)
        left_low = ((block - left_high.to(tl.float32)) * 2.0**11).to(tl.float16)
        left_scale = ((exponent - 14) << 23).to(tl.float32, bitcast=True)
        right_high = tl.load(right_high_ptr + start)
        right_low = tl.load(right_low_ptr + start)
        small = tl.dot(left_high, right_low)
        small = tl.dot(left_low, right_high, small)
        small = tl.where(tl.abs(small) < float("inf"), small, 0.0) * 2.0**-11
        product += tl.dot(left_high, right_high, small) * left_scale
    product = product * right_scale
    mask = (rows < n_rows) & (columns < n_columns)
    offsets = rows * n_columns + columns
    bias = tl.load(bias_ptr + columns, mask=columns < n_columns, other=0).to(tl.float32)
    biased = product + bias
    relu_out = tl.where(biased < 0.0, 0.0, biased)
    product_2 = relu_out * scale
    tl.store(out_ptr + offsets, product_2, mask=mask)


def fused_linear_relu_mul(x, weight, bias, scale):
    """Linear, ReLU and multiply; the product from fp16 parts, as accurate as fp32."""
    if (
        x.dim() != 2
        or x.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or not weight.dtype == bias.dtype == x.dtype
        or weight.dim() != 2
        or bias.dim() != 1
        or weight.numel() >= 2**31
        or weight.shape[1] != x.shape[1]
        or bias.shape[0] != weight.shape[0]
        or x.numel() >= 2**31
    ):
        raise ValueError(
            "fused_linear_relu_mul takes x of 2 dimensions; x of float32 or float16 or "
            "bfloat16; weight, bias of dtype x.dtype; weight of 2 dimensions; bias of "
            "1 dimension; weight of fewer than 2**31 elements; weight.shape[1] of "
            "x.shape[1]; bias.shape[0] of weight.shape[0]; fewer than 2**31 elements"
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (x, weight, bias)):
        linear = torch.nn.functional.linear(x, weight, bias)
        relu = torch.relu(linear)
        return relu * scale
    x = x.contiguous()
    weight = weight.contiguous()
    bias = bias.contiguous()
    out = x.new_empty((x.shape[0], weight.shape[0]))
    if out.numel() >= 2**31:
        raise ValueError("fused_linear_relu_mul makes fewer than 2**31 elements")
    n_rows = x.shape[0]
    n_columns = weight.shape[0]
    depth = x.shape[1]
    padded = triton.cdiv(depth, 64) * 64
    left_line_stride = x.stride(0)
    left_inner_stride = x.stride(1)
    right_parts = fp16_parts(
        weight, 1, n_columns, depth, padded, (0, weight.stride(0), weight.stride(1))
    )
    tiles = triton.cdiv(n_rows, 128) * triton.cdiv(n_columns, 128)
    grid = (tiles,)
    linear_relu_mul_kernel[grid](
        x,
        *right_parts,
        bias,
        out,
        n_rows,
        n_columns,
        depth,
        left_line_stride,
        left_inner_stride,
        padded,
        scale,
        ROWS=128,
        COLUMNS=128,
        DEPTH=64,
        GROUP=8,
        num_warps=8,
        num_stages=3,
    )
    return out


class Model(nn.Module):
    """A linear layer with a scaled activation."""

    def __init__(self, inputs, features, scale):
        super().__init__()
        self.linear = nn.Linear(inputs, features)
        self.scale = scale

    def forward(self, x):
        return fused_linear_relu_mul(
            x, self.linear.weight, self.linear.bias, self.scale
        )


def get_inputs():
    return [torch.randn(70, 100)]


def get_init_inputs():
    return [100, 50, 0.5]
'''


STRATEGY = fusion(
    "product",
    product_regions,
    family=Family.TENSOR_CORE,
    reason="fp32 products do not use tensor cores in eager mode, and what follows them goes through memory once more.",
    why="One kernel makes a product from sums of tensor-core products as accurate as fp32, and does on the tile what follows.",
    doc="""\
`matmul`, `mm`, `bmm`, `addmm`, `baddbmm`, `einsum` of two operands with one shared index, and linear layers become one
Triton kernel together with the pointwise operations that follow: bias, activation, scale, residual. Batch dims are
broadcast, transposed operands are read as they lie. Products of one form in the same text, such as the layers of a perceptron,
become calls of one kernel in one step.

fp32 operands are split into two fp16 parts each, with an exact power of two as scale for every row and column, and
multiplied as three products on tensor cores; blocks of the inner axis are added up in fp32. On an H100 the error was a quarter
of the library's with an inner axis of 4096, and larger than the library's with one of 524288; the gate decides. Rows and
columns with infinities or NaN keep them as in eager mode. This needs operands that are read as they are from fp32 tensors.
Beside it `tl.dot` makes three TF32 or six bfloat16 products. Which of them and which tile is fastest, a race says; where the
library is faster, nothing is kept. Both operands, weights too, are split in every call: by a kernel of its own, or, where the
result has few rows or columns, the larger one as it is read. Where reduced accuracy is accepted, one product of operands
that are rounded to fp16 is raced as well.

What it cannot do: matrix-vector products and narrow ones, which torch.fuse-narrow-product makes, results in another order
than rows and columns, operands that are computed in front (they would be computed anew for every tile). The kernel has no
backward: where autograd is on and an input requires a gradient, the launcher runs the operations of torch instead.
""",
    instruction=(
        "Replace the matrix product and the pointwise operations that follow it by one Triton kernel and a launching "
        "function above the class. Split fp32 operands into two scaled fp16 parts, add three tl.dot of them up in fp32, mask "
        "the edges of all three extents, order the tiles in groups for the cache. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
)
