"""Prints a Nest with an fp32 matrix product as products of fp16 parts, which run on the tensor cores at full speed.

Each row of the left operand and each column of the right one is scaled by a power of two, so that its largest element
comes close to the largest fp16 number, and is split into two fp16 numbers: what it rounds to, and 2**11 times what is
left. High times high is summed over a block of the inner axis on the tensor cores, whose accumulator truncates, and over
all blocks in fp32; high times low and low times high, smaller by 2**-11, are summed by the tensor cores alone. (Ootomo and
Yokota, Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance, 2022.)

Where operands may be rounded, the high parts alone make one product: fp16 keeps as many bits as TF32, and the scales its range.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.tiled import Tiled
from kernelwright.micro.rewrite.printed import Printed, kernel_source, launcher_source
from kernelwright.micro.rewrite.relies import limits
from kernelwright.nest.form import Contract, Load, Nest
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.schedule.forms import Product
from kernelwright.schedule.operands import whole_operand


@dataclass(frozen=True)
class _Side:
    """One operand: where its lines (rows of the left, columns of the right one) lie in its tensor."""

    name: str  # "left" | "right"
    tensor: str
    lines: str  # the launcher's text for their number
    batches: str  # and for that of its batches
    strides: tuple[str, str, str]  # from batch to batch, line to line, and along the inner axis
    batch: str  # the kernel's name for the batch; "" where there is one for all

    def call(self, split: "_Split") -> str:
        """The launcher's line that splits it."""
        strides = f"({', '.join(self.strides)})"
        given = f"{self.tensor}, {self.batches}, {self.lines}, depth, padded, {strides}"
        return f"{self.name}_parts = {split.function}({given})"

    def pointers(self, place: str, split: "_Split") -> list[str]:
        """The kernel's lines for the places of its lines, of which `place` are the numbers, in the parts."""
        line, count = f"{self.name}_line", {"left": "n_rows", "right": "n_columns"}[self.name]
        number = f"{place} % {count}"
        number = f"{self.batch}.to(tl.int64) * {count} + {number}" if self.batch else f"({number}).to(tl.int64)"
        at = f"{line} * padded + inner"
        return [
            f"{line} = {number}",
            *(f"{self.name}_{part}_ptr += {at}" for part in split.parts),
            f"{self.name}_scale = tl.load({self.name}_scale_ptr + {line})",
        ]


@dataclass(frozen=True)
class _Split:
    """How operands are split: the function of the file that does it, and what it makes of each, with the lines for that."""

    function: str
    parts: Mapping[str, str]
    words: str  # of the function
    kernel_words: str

    @property
    def definitions(self) -> str:
        """The function and its kernel."""
        return _SPLITTING.format(
            function=self.function,
            words=self.words,
            kernel_words=self.kernel_words,
            pointers="\n".join(f"    {part}_ptr," for part in self.parts),
            made="\n".join(f"        {part} = {line}" for part, line in self.parts.items()),
            stored="\n".join(
                f"        tl.store({part}_ptr + place * padded + inner, {part}, mask=mask)" for part in self.parts
            ),
            allocated="\n".join(
                f"    {part} = x.new_empty((batches * n_lines, padded), dtype=torch.float16)" for part in self.parts
            ),
            given="\n".join(f"        {part}," for part in self.parts),
            returned=", ".join(self.parts),
        )


_SPLITS = {
    "fp16x3": _Split(
        "fp16_parts",
        {
            "high": "(x * scale).to(tl.float16)",
            "low": "((x * scale - high.to(tl.float32)) * 2.0**11).to(tl.float16)",
        },
        "The high and low fp16 parts of the lines of x, padded along them, and their scales.",
        "Two fp16 parts of each line, scaled by a power of two; the low one times 2**11.",
    ),
    "fp16": _Split(
        "rounded_to_fp16",
        {"rounded": "(x * scale).to(tl.float16)"},
        "The lines of x rounded to fp16, padded along them, and their scales.",
        "Each line rounded to fp16, scaled by a power of two.",
    ),
}


def print_corrected(nest: Nest, names: tuple[str, str], words: str, tile: Product, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed.

    Raises NotExpressible where the operands are not read as they are from fp32 tensors.
    """
    tiled = Tiled(launching.with_local_sizes(nest))
    kernel, product = tiled.kernel, tiled.product
    assert isinstance(product.expr, Contract)
    left, right, split = _side(tiled, "left"), _side(tiled, "right"), _SPLITS[tile.precision]
    operands = {product.expr.left, product.expr.right}
    body = [*tiled.program(), *_product(tiled, left, right, split)]
    body += tiled.ending(tiled.lines([let for let in nest.lets if let.name not in operands | {product.name}]))
    blocks = {"ROWS": tile.rows, "COLUMNS": tile.columns, "DEPTH": tile.depth, "GROUP": tile.group}
    sizes = ["n_rows", "n_columns", "padded"]
    parts = [f"{side.name}_{part}_ptr" for side in (left, right) for part in (*split.parts, "scale")]
    read = {let.expr.tensor for let in nest.lets if isinstance(let.expr, Load) and let.name not in operands}
    unread = {tensor.name for tensor in nest.tensors} - read
    parameters = [p for p in kernel.parameters(sizes, blocks) if p.removesuffix("_ptr") not in unread]
    given = [a for a in kernel.arguments(sizes, blocks, tile.warps) if a not in unread]
    launch = tiled.launch(
        names,
        (tile.rows, tile.columns),
        [f"padded = triton.cdiv(depth, {tile.depth}) * {tile.depth}", left.call(split), right.call(split)],
        ["*left_parts", "*right_parts", *given, f"num_stages={tile.stages}"],
    )
    made = "from fp16 parts, as accurate as fp32" if "low" in split.parts else "of operands rounded to fp16"
    title = f"{words}; the product {made}{limits(nest.eager)}."
    function = launcher_source(names[1], launching.parameters(nest), title, launch)
    source = kernel_source(names[0], [*parts, *parameters], f"{words}, a tile of ROWS by COLUMNS a program.", body)
    helpers = [DEVICE_FUNCTIONS[name] for name in kernel.helpers if f"def {name}(" not in existing]
    splitting = [] if f"def {split.function}(" in existing else [split.definitions]
    return Printed("\n\n\n".join([*helpers, *splitting, source, function]), names[1], tile.described)


def _side(tiled: Tiled, name: str) -> _Side:
    """Where an operand lies. Raises NotExpressible where it is not a whole fp32 tensor, its lines one step apart."""
    whole, axes = whole_operand(tiled.nest, name), tiled.roles
    if whole is None:
        raise NotExpressible("An operand of the product is not read as it is from an fp32 tensor.")
    line = axes.row if name == "left" else axes.column
    strides = {axis: f"{whole.tensor.name}.stride({dim})" for axis, dim in whole.dims.items()}
    batch = next((axis for axis in axes.batch if axis.name in strides), None)
    return _Side(
        name,
        whole.tensor.name,
        "n_rows" if name == "left" else "n_columns",
        batch.extent.text if batch else "1",
        (strides[batch.name] if batch else "0", strides[line.name], strides[axes.inner.name]),
        batch.name if batch else "",
    )


def _product(tiled: Tiled, left: _Side, right: _Side, split: _Split) -> list[str]:
    """The kernel's lines for the product; of rows and columns that hold an infinity or NaN from the high parts alone."""
    name, (bounds, stop) = tiled.product.name, tiled.depth("padded")
    lines = [
        *bounds,
        "inner = tl.arange(0, DEPTH)[None, :]",
        *left.pointers("rows", split),
        "inner = tl.arange(0, DEPTH)[:, None]",
        *right.pointers("columns", split),
        f"{name} = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)",
    ]
    summed = _all_parts(name, stop) if "low" in split.parts else _rounded(name, stop)
    return [*lines, *summed, f"{name} = {name} * left_scale * right_scale"]


def _rounded(name: str, stop: str) -> list[str]:
    """The sum of the products of rounded operands."""
    return [
        f"for start in range(0, {stop}, DEPTH):",
        "    left = tl.load(left_rounded_ptr + start)",
        f"    {name} = tl.dot(left, tl.load(right_rounded_ptr + start), {name})",
    ]


def _all_parts(name: str, stop: str) -> list[str]:
    """The sum of the products of all parts but low times low."""
    return [
        f"small = {name}",
        "# The compiler must not know that this is zero: it would sum in the accumulator, which truncates.",
        f"zero = {name} + left_scale * 0.0",
        f"for start in range(0, {stop}, DEPTH):",
        "    left = tl.load(left_high_ptr + start)",
        "    right = tl.load(right_high_ptr + start)",
        "    large = tl.dot(left, right, zero)",
        "    small = tl.dot(left, tl.load(right_low_ptr + start), small)",
        "    small = tl.dot(tl.load(left_low_ptr + start), right, small)",
        f"    {name} += large",
        f'{name} += tl.where(tl.abs(small) < float("inf"), small, 0.0) * 2.0**-11',
    ]


_SPLITTING = '''@triton.jit
def {function}_kernel(
    x_ptr,
{pointers}
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
    """{kernel_words}"""
    batch = tl.program_id(1).to(tl.int64)
    lines = tl.program_id(0).to(tl.int64) * LINES + tl.arange(0, LINES)[:, None]
    x_ptr += batch * batch_stride + lines * line_stride
    largest = tl.zeros([LINES, BLOCK], dtype=tl.int32)
    for start in range(0, depth, BLOCK):
        inner = start + tl.arange(0, BLOCK)[None, :]
        mask = (lines < n_lines) & (inner < depth)
        x = tl.load(x_ptr + inner * inner_stride, mask=mask, other=0.0).to(tl.float32)
        bits = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
        largest = tl.maximum(largest, tl.where(bits < 0x7F800000, bits, 0))
    exponent = tl.maximum(tl.max(largest, axis=1, keep_dims=True) >> 23, 15)
    scale = ((268 - exponent) << 23).to(tl.float32, bitcast=True)
    inverse = ((exponent - 14) << 23).to(tl.float32, bitcast=True)
    place = batch * n_lines + lines
    tl.store(scale_ptr + place, inverse, mask=lines < n_lines)
    for start in range(0, padded, BLOCK):
        inner = start + tl.arange(0, BLOCK)[None, :]
        mask = (lines < n_lines) & (inner < depth)
        x = tl.load(x_ptr + inner * inner_stride, mask=mask, other=0.0).to(tl.float32)
{made}
        mask = (lines < n_lines) & (inner < padded)
{stored}


def {function}(x, batches, n_lines, depth, padded, strides):
    """{words}"""
{allocated}
    scale = x.new_empty(batches * n_lines, dtype=torch.float32)
    grid = (triton.cdiv(n_lines, 8), batches)
    {function}_kernel[grid](
        x,
{given}
        scale,
        n_lines,
        depth,
        padded,
        *strides,
        LINES=8,
        BLOCK=512,
        num_warps=4,
    )
    return {returned}, scale'''
