"""Makes one Triton kernel of a matrix product and the operations that follow it."""

from kernelwright.macro.intent import Around, Fuse, Intent
from kernelwright.macro.nests import found
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.rewrite.nested import product_regions
from kernelwright.values import Action, Language, Refusal

_ID = "torch.fuse-product"
_REASON = "fp32 products do not use tensor cores in eager mode, and what follows them goes through memory once more."


def _applies(observation: Observation) -> tuple[Action, ...] | Refusal:
    return found(_ID, observation, product_regions, "The product stands outside this kernel.", _REASON)


def _intent(observation: Observation, action: Action) -> Intent | Refusal:
    return Fuse(Around.NEST)


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
def linear_relu_mul_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    n_rows,
    n_columns,
    depth,
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
    product = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for start in range(0, depth, DEPTH):
        left_inner = start + tl.arange(0, DEPTH)[None, :]
        x_at = rows * depth + left_inner
        x = tl.load(x_ptr + x_at, mask=(rows < n_rows) & (left_inner < depth), other=0)
        x = x.to(tl.float32)
        right_inner = start + tl.arange(0, DEPTH)[:, None]
        weight_at = columns * depth + right_inner
        weight = tl.load(
            weight_ptr + weight_at,
            mask=(columns < n_columns) & (right_inner < depth),
            other=0,
        )
        weight = weight.to(tl.float32)
        product = tl.dot(x, weight, product, input_precision="tf32x3")
    mask = (rows < n_rows) & (columns < n_columns)
    offsets = rows * n_columns + columns
    bias = tl.load(bias_ptr + columns, mask=columns < n_columns, other=0).to(tl.float32)
    biased = product + bias
    relu_out = tl.where(biased < 0.0, 0.0, biased)
    product_2 = relu_out * scale
    tl.store(out_ptr + offsets, product_2, mask=mask)


def fused_linear_relu_mul(x, weight, bias, scale):
    """Linear, ReLU and multiply in one kernel; forward only."""
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
    x = x.contiguous()
    weight = weight.contiguous()
    bias = bias.contiguous()
    out = x.new_empty((x.shape[0], weight.shape[0]))
    if out.numel() >= 2**31:
        raise ValueError("fused_linear_relu_mul makes fewer than 2**31 elements")
    n_rows = x.shape[0]
    n_columns = weight.shape[0]
    depth = x.shape[1]
    tiles = triton.cdiv(n_rows, 128) * triton.cdiv(n_columns, 128)
    grid = (tiles,)
    linear_relu_mul_kernel[grid](
        x,
        weight,
        bias,
        out,
        n_rows,
        n_columns,
        depth,
        scale,
        ROWS=128,
        COLUMNS=128,
        DEPTH=32,
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


STRATEGY = Strategy(
    id=_ID,
    title="Fuse product",
    family=Family.TENSOR_CORE,
    languages=frozenset({Language.TORCH}),
    why="One kernel makes a product from sums of tensor-core products as accurate as fp32, and does on the tile what follows.",
    doc="""\
`matmul`, `mm`, `bmm` and linear layers become one Triton kernel together with the pointwise operations that follow: bias,
activation, scale, residual. Batch dims are broadcast, transposed operands are read as they lie.

fp32 operands are multiplied as sums of products on tensor cores: three of TF32 or six of bfloat16 parts, both as accurate
as fp32 arithmetic; the gate judges them against fp64. Which of them and which tile is fastest, a race says; where the
library is faster, nothing is kept.

What it cannot do: matrix-vector products and narrow ones, results in another order than rows and columns, operands that
are computed in front (they would be computed anew for every tile). It is for the forward pass only: no gradient flows
through the kernel.
""",
    instruction=(
        "Replace the matrix product and the pointwise operations that follow it by one Triton kernel and a launching "
        "function above the class. Accumulate in fp32 with tl.dot and input_precision='tf32x3' or 'bf16x6', mask the edges "
        "of all three extents, order the tiles in groups for the cache. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
    applies=_applies,
    intent=_intent,
    needs_graph=True,
    needs_gpu=True,
    promises_kernel=True,
)
