"""Makes one Triton kernel of a product that is narrower than a tile, and the operations that follow it."""

from kernelwright.macro.nests import fusion
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.nested import narrow_product_regions

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """The score of each row, between 0 and 1."""

    def __init__(self, inputs):
        super().__init__()
        self.score = nn.Linear(inputs, 1)

    def forward(self, x):
        return torch.sigmoid(self.score(x))


def get_inputs():
    return [torch.randn(70, 100)]


def get_init_inputs():
    return [100]
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_sigmoid_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    n_rows,
    length,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Linear and sigmoid, ROWS rows a program, in steps of BLOCK."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    product = tl.zeros([ROWS, BLOCK], dtype=tl.float32)
    for start in range(0, length, BLOCK):
        columns = start + tl.arange(0, BLOCK)[None, :]
        mask = (rows < n_rows) & (columns < length)
        x_at = rows * length + columns
        x = tl.load(x_ptr + x_at, mask=mask, other=0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=columns < length, other=0)
        weight = weight.to(tl.float32)
        term = x * weight
        product += tl.where(mask, term, 0.0)
    product = tl.sum(product, axis=1, keep_dims=True)
    bias = tl.load(bias_ptr).to(tl.float32)
    biased = product + bias
    sigmoid_out = tl.sigmoid(biased)
    tl.store(out_ptr + rows, sigmoid_out, mask=rows < n_rows)


def fused_linear_sigmoid(x, weight, bias):
    """Linear and sigmoid in one kernel, in fp32."""
    if (
        x.dim() != 2
        or x.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or not weight.dtype == bias.dtype == x.dtype
        or weight.dim() != 2
        or bias.dim() != 1
        or weight.numel() >= 2**31
        or weight.shape[0] != 1
        or weight.shape[1] != x.shape[1]
        or bias.shape[0] != 1
        or x.shape[1] == 0
        or x.numel() >= 2**31
    ):
        raise ValueError(
            "fused_linear_sigmoid takes x of 2 dimensions; x of float32 or float16 or "
            "bfloat16; weight, bias of dtype x.dtype; weight of 2 dimensions; bias of "
            "1 dimension; weight of fewer than 2**31 elements; weight.shape[0] of 1; "
            "weight.shape[1] of x.shape[1]; bias.shape[0] of 1; rows that are not "
            "empty; fewer than 2**31 elements"
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (x, weight, bias)):
        linear = torch.nn.functional.linear(x, weight, bias)
        return torch.sigmoid(linear)
    x = x.contiguous()
    weight = weight.contiguous()
    bias = bias.contiguous()
    out = x.new_empty((x.shape[0], 1))
    if out.numel() >= 2**31:
        raise ValueError("fused_linear_sigmoid makes fewer than 2**31 elements")
    n_rows = x.shape[0]
    length = x.shape[1]
    linear_sigmoid_kernel[(triton.cdiv(n_rows, 16),)](
        x, weight, bias, out, n_rows, length, ROWS=16, BLOCK=128, num_warps=8
    )
    return out


class Model(nn.Module):
    """The score of each row, between 0 and 1."""

    def __init__(self, inputs):
        super().__init__()
        self.score = nn.Linear(inputs, 1)

    def forward(self, x):
        return fused_linear_sigmoid(x, self.score.weight, self.score.bias)


def get_inputs():
    return [torch.randn(70, 100)]


def get_init_inputs():
    return [100]
'''


STRATEGY = fusion(
    "narrow-product",
    narrow_product_regions,
    reason="A narrow product reads its operands and does little else; one kernel does what follows while it has the result.",
    why="A product with a vector or a narrow matrix is bound by memory: a sum of products of elements needs no tensor cores.",
    doc="""\
Products of which one side, or the inner dim, has fewer than 16 elements (`matmul`, `mm`, `bmm`, `addmm`, `baddbmm`, `einsum`
of two operands with one shared index, linear layers, and vectors in the place of matrices) become one Triton kernel
together with the pointwise operations that follow. Wider ones are torch.fuse-product's.

Each element of the result is a sum of products along the inner dim, folded in fp32 as a reduction is: a program takes one
row or several, or a part of a row, and then a second kernel joins the parts, in the same order each time. Transposed operands
and parts of tensors are read as they lie, and the result may be stored in any order of its dims.

What it cannot do: operands that are computed in front, inner dims that are several indices, a second product or a reduction
in the same kernel. The larger of two matrices is read once for every row or column of the narrow side: where sums run along
its rows, by programs beside each other, so mostly from a cache. Where the library is faster, nothing is kept. No GPU has
timed this strategy yet. The kernel has no backward: where autograd is on and an input requires a gradient, the launcher runs
the operations of torch instead.
""",
    instruction=(
        "Replace the product and the pointwise operations that follow it by one Triton kernel and a launching function above "
        "the class. Multiply elements and add them up in fp32 along the inner dim, in steps, without tl.dot; where there are "
        "few results and long sums, share each sum among programs and join the parts in a second kernel. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
)
