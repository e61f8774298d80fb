"""Compute sums of products on the tensor cores."""

import ast
from collections.abc import Iterator

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.source.trees import extent
from kernelwright.values import Refusal

_SIDES = 2  # of a tile

Place = tuple[int, int, int, int]  # first line and column, last line and the column it ends before


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    if observation.kernel.facts.dots:
        return Absent("The kernel uses tl.dot already.")
    capability = observation.device.compute_capability
    if capability is not None and capability < 70:
        return Refusal(f"{observation.device.name} has no tensor cores.")
    product = next((node for node, dims in _outer_products(sight) if _is_summed(sight, node, dims)), None)
    if product is None:
        return Absent("No products of a row's and a column's elements are summed up to a tile.")
    return Chance(
        f"sum of products on line {product.lineno}",
        1.0,
        "Products are multiplied and added one by one, which tensor cores do for a whole tile at once.",
    )


def _outer_products(sight: Sight) -> Iterator[tuple[ast.BinOp, int]]:
    """The products of which one side is spread over rows and the other over columns, with the number of their dims."""
    loads = [extent(call) for name, call in sight.reading.calls if name == "load"]
    subscripts = (node for node in sight.reading.nodes if isinstance(node, ast.Subscript))
    broadcast = [(extent(node), spread) for node in subscripts if any(spread := _spread(node))]
    spreads = [one for one in broadcast if not any(_is_within(one[0], load) for load in loads)]
    if len({spread for _, spread in spreads}) < _SIDES:
        return
    for node in sight.reading.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = (_spread_of(sight, side, spreads) for side in (node.left, node.right))
            if left and right and left != right and len(left) == len(right):
                yield node, len(left)


def _is_summed(sight: Sight, product: ast.BinOp, dims: int) -> bool:
    """Whether a loop adds the product to what it has, or `tl.sum` folds a third dim of it."""
    place = extent(product)
    if any(name == "sum" and _is_within(place, extent(call)) for name, call in sight.reading.calls):
        return dims == _SIDES + 1
    carried = (one for loop in sight.reading.loops for one in sight.sets_in(loop) if one.name in one.reads)
    return dims == _SIDES and any(_is_within(place, extent(one.value)) for one in carried)


def _spread_of(sight: Sight, side: ast.expr, spreads: list[tuple[Place, tuple[bool, ...]]]) -> tuple[bool, ...]:
    """How a side of a product is spread, () where it is not."""
    values = sight.values.get(side.id, ()) if isinstance(side, ast.Name) else (side,)
    places = [extent(value) for value in values]
    return next((spread for one, spread in spreads for place in places if _is_within(one, place)), ())


def _spread(node: ast.Subscript) -> tuple[bool, ...]:
    """For each dim whether it is broadcast: [:, None] is (False, True)."""
    dims = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    return tuple(isinstance(dim, ast.Constant) and dim.value is None for dim in dims)


def _is_within(one: Place, around: Place) -> bool:
    return around[:2] <= one[:2] and one[2:] <= around[2:]


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, out_ptr, M, N, K, {constants}):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
"""

_TAIL = """\
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], total, mask=mask)


# workload: matmul(randn(4096, 4096, dtype=float16), randn(4096, 4096, dtype=float16))
# workload: matmul(randn(37, 45, dtype=float16), randn(45, 29, dtype=float16))
def matmul(a, b):
    a, b = a.contiguous(), b.contiguous()
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    matmul_kernel[grid](a, b, out, M, N, K, BLOCK_M=64, BLOCK_N=64{blocks})
    return out
"""

STRATEGY = triton_rewrite(
    "tensor-core",
    "Use tensor cores",
    _look,
    family=Family.TENSOR_CORE,
    why="Tensor cores multiply and add tiles at many times the rate of the other units.",
    doc="""\
Replaces a sum of products of rows and columns by `tl.dot`: outer products that a loop adds up, or a product of three dims
that `tl.sum` reduces.

It pays where each loaded element takes part in many products. It does not pay for a matrix times a vector, which is bound
by memory, and hardly for sides of fewer than 16 elements, which have to be filled up.

**Refused:** kernels with a `tl.dot`; kernels without products that are summed up to a tile; devices without tensor cores.
""",
    instruction="""\
Replace the sum of products by `tl.dot` on tiles.
1. Name the three axes: M (rows of the result), N (its columns), K (summed over). Tiles of the operands are [BLOCK_M,
   BLOCK_K] and [BLOCK_K, BLOCK_N]; each side is a power of two and at least 16. Start with BLOCK_K = 32 for fp16 and bf16.
2. Loop over K in steps of BLOCK_K. Load both tiles with masks on both of their axes and `other=0.0`, so that what lies
   beyond K adds nothing. `total = tl.dot(a, b, total)` keeps the sum in the accumulator.
3. Hand the operands over in the dtype in which they are stored (fp16, bf16): casting them to fp32 first would forgo most of
   the speed. What is done to an operand beforehand (scale, mask, activation) is done in fp32, and cast back if that loses
   nothing.
4. The accumulator is fp32, also for fp16 results; round once, at the store. Bias, scale and activation follow the loop.
5. If a program took too little for a tile (one row, one column), give it a tile, and change the grid with it.
Pitfalls: fp32 operands go to TF32 by default, which keeps 10 bits: pass `input_precision="ieee"`, or "tf32x3" for speed at
nearly full accuracy. Integer operands need an int32 accumulator. A transposed operand is loaded by its strides, or turned
by `tl.trans`. Offsets in int64. Subtracting large squares (distances as |x|^2 + |y|^2 - 2xy) loses digits that the direct
form keeps.
It pays for tiles with M, N and K of 16 and more; a product with a vector is bound by memory and gains nothing.
Do not change the launcher's signature, its results' dtype, or the shapes, dtypes and strides that it accepts.""",
    example=Example(
        before=_HEAD.format(constants="BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr")
        + """\
    for k in range(0, K):
        a = tl.load(a_ptr + rows * K + k, mask=rows < M, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + k * N + cols, mask=cols < N, other=0.0).to(tl.float32)
        total += a[:, None] * b[None, :]
"""
        + _TAIL.format(blocks=""),
        after=_HEAD.format(constants="BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr")
        + """\
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (cols[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + cols[None, :], mask=b_mask, other=0.0)
        total = tl.dot(a, b, total)
"""
        + _TAIL.format(blocks=", BLOCK_K=32"),
    ),
)
