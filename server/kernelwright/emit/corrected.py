"""Prints a Nest with an fp32 matrix product as products of fp16 parts, which run on the tensor cores at full speed.

Each row of the left operand and each column of the right one is scaled by a power of two, so that its largest element
comes close to the largest fp16 number, and is split into two fp16 numbers: what it rounds to, and 2**11 times what is
left. High times high is summed over a block of the inner axis on the tensor cores, whose accumulator truncates, and over
all blocks in fp32; high times low and low times high, smaller by 2**-11, are summed by the tensor cores alone. (Ootomo and
Yokota, Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance, 2022.)

A kernel of its own splits an operand, which reads all of it and writes as much. Where the result has few rows or few columns,
that takes longer than the product: the larger operand is then split as it is read, each block with scales of its own.

Where operands may be rounded, the high parts alone make one product: fp16 keeps as many bits as TF32, and the scales its range.
"""

from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.splitting import SPLITS, Split
from kernelwright.emit.tiled import Tiled
from kernelwright.micro.rewrite.printed import Printed, kernel_source, launcher_source
from kernelwright.micro.rewrite.relies import limits
from kernelwright.nest.form import Contract, Load, Nest
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.schedule.forms import Product
from kernelwright.schedule.operands import whole_operand
from kernelwright.schedule.precisions import PRECISIONS

_LARGE = 1 << 24
"""Elements of a result that stays in no cache."""


@dataclass(frozen=True)
class _Side:
    """Where the lines of one operand (rows of the left, columns of the right one) lie in its tensor."""

    name: str  # "left" | "right"
    tensor: str
    batches: str  # the launcher's text for their number
    strides: tuple[str, str, str]  # from batch to batch, line to line, and along the inner axis
    batch: str  # the kernel's name for the batch; "" where there is one for all
    extent: int  # lines of the captured call

    @property
    def lines(self) -> str:
        """What launcher and kernel call the number of its lines."""
        return {"left": "n_rows", "right": "n_columns"}[self.name]


@dataclass(frozen=True)
class _Operand:
    """How the kernel comes by the parts of one operand.

    `parameters` of the kernel, for which the launcher has `given`; `sizes` are called the same in both. `prepared`: lines of
    the launcher; `before`: those of the kernel ahead of its loop, and `inside`: those in it that name the parts.
    """

    parameters: tuple[str, ...]
    given: tuple[str, ...]
    sizes: tuple[str, ...]
    prepared: tuple[str, ...]
    before: tuple[str, ...]
    inside: tuple[str, ...]


def print_corrected(nest: Nest, names: tuple[str, str], words: str, tile: Product, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed.

    Raises NotExpressible where the operands are not read as they are from fp32 tensors.
    """
    tiled = Tiled(launching.with_local_sizes(nest))
    kernel, product = tiled.kernel, tiled.product
    assert isinstance(product.expr, Contract)
    split, sides = SPLITS[tile.precision], (_side(tiled, "left"), _side(tiled, "right"))
    larger = max(sides, key=lambda side: side.extent) if PRECISIONS[tile.precision].in_loop else None
    short = tiled.roles.inner.extent.captured <= tile.depth
    padded = "PADDED" if short else "padded"
    operands = [_in_loop(side, split) if side is larger else _split_before(side, split, padded) for side in sides]
    body = [*tiled.program(), *_product(tiled, operands, split, larger, short=short)]
    read = {product.expr.left, product.expr.right}
    after = tiled.lines([let for let in nest.lets if let.name not in read | {product.name}])
    body += tiled.ending(after, streamed=short and nest.numel >= _LARGE)
    blocks: dict[str, object] = {"ROWS": tile.rows, "COLUMNS": tile.columns, "DEPTH": tile.depth, "GROUP": tile.group}
    sizes = ["n_rows", "n_columns", *(size for operand in operands for size in operand.sizes)]
    if short:  # the loop of one block is none once the compiler knows
        blocks["PADDED"] = "padded"
    else:
        sizes.append("padded")
    unread = {tensor.name for tensor in nest.tensors}
    unread -= {let.expr.tensor for let in nest.lets if isinstance(let.expr, Load) and let.name not in read}
    parameters = [p for p in kernel.parameters(sizes, blocks) if p.removesuffix("_ptr") not in unread]
    arguments = [a for a in kernel.arguments(sizes, blocks, tile.warps) if a not in unread]
    launch = tiled.launch(
        names,
        (tile.rows, tile.columns),
        [
            f"padded = triton.cdiv(depth, {tile.depth}) * {tile.depth}",
            *(line for one in operands for line in one.prepared),
        ],
        [*(text for one in operands for text in one.given), *arguments, f"num_stages={tile.stages}"],
    )
    made = "from fp16 parts, as accurate as fp32" if "low" in split.parts else "of operands rounded to fp16"
    title = f"{words}; the product {made}{limits(nest.eager)}."
    function = launcher_source(names[1], launching.parameters(nest), title, launch)
    parameters = [*(name for one in operands for name in one.parameters), *parameters]
    source = kernel_source(names[0], parameters, f"{words}, a tile of ROWS by COLUMNS a program.", body)
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
        batch.extent.text if batch else "1",
        (strides[batch.name] if batch else "0", strides[line.name], strides[axes.inner.name]),
        batch.name if batch else "",
        line.extent.captured,
    )


def _split_before(side: _Side, split: Split, padded: str) -> _Operand:
    """An operand that is split by a kernel of its own; `padded` is what the product's kernel calls the length of its lines."""
    name, line = side.name, f"{side.name}_line"
    axis, place = {"left": ("[None, :]", "rows"), "right": ("[:, None]", "columns")}[name]
    number = f"{place} % {side.lines}"
    number = f"{side.batch}.to(tl.int64) * {side.lines} + {number}" if side.batch else f"({number}).to(tl.int64)"
    strides = f"({', '.join(side.strides)})"
    given = f"{side.tensor}, {side.batches}, {side.lines}, depth, padded, {strides}"
    return _Operand(
        parameters=tuple(f"{name}_{part}_ptr" for part in (*split.parts, "scale")),
        given=(f"*{name}_parts",),
        sizes=(),
        prepared=(f"{name}_parts = {split.function}({given})",),
        before=(
            f"inner = tl.arange(0, DEPTH){axis}",
            f"{line} = {number}",
            *(f"{name}_{part}_ptr += {line} * {padded} + inner" for part in split.parts),
            f"{name}_scale = tl.load({name}_scale_ptr + {line})",
        ),
        inside=tuple(f"{name}_{part} = tl.load({name}_{part}_ptr + start)" for part in split.parts),
    )


def _in_loop(side: _Side, split: Split) -> _Operand:
    """An operand that is split block by block as it is read, its lines along the rows of a block."""
    name = side.name
    lines = {"left": "rows", "right": "tl.trans(columns)"}[name]
    at = f"({lines} % {side.lines}).to(tl.int64) * {name}_line_stride"
    strides = dict(zip(("batch", "line", "inner"), side.strides, strict=True))
    if side.batch:
        at = f"{side.batch}.to(tl.int64) * {name}_batch_stride + {at}"
    else:
        del strides["batch"]
    parts = {part: f"{name}_{part}" for part in (*split.parts, "scale")}
    turned: tuple[str, ...] = ()
    if name == "right":
        own = {part: "inverse" if part == "scale" else part for part in parts}
        turned = tuple(f"{parts[part]} = tl.trans({own[part]})" for part in parts)
        parts = own
    high = parts["high" if "high" in parts else "rounded"]
    low = (f"{parts['low']} = ((block - {high}.to(tl.float32)) * 2.0**11).to(tl.float16)",) if "low" in parts else ()
    sizes = {f"{name}_{of}_stride": text for of, text in strides.items()}
    return _Operand(
        parameters=(f"{name}_ptr",),
        given=(side.tensor,),
        sizes=("depth", *sizes),
        prepared=tuple(f"{size} = {text}" for size, text in sizes.items()),
        before=(f"{name}_ptr += {at}",),
        inside=(
            "position = start + tl.arange(0, DEPTH)[None, :]",
            f"block = tl.load({name}_ptr + position * {name}_inner_stride, mask=position < depth, other=0.0)",
            "block = block.to(tl.float32)",
            "bits = block.to(tl.int32, bitcast=True) & 0x7FFFFFFF",
            "largest = tl.max(tl.where(bits < 0x7F800000, bits, 0), axis=1, keep_dims=True)",
            "exponent = tl.maximum(largest >> 23, 15)",
            "block *= ((268 - exponent) << 23).to(tl.float32, bitcast=True)",
            f"{high} = block.to(tl.float16)",
            *low,
            f"{parts['scale']} = ((exponent - 14) << 23).to(tl.float32, bitcast=True)",
            *turned,
        ),
    )


def _product(tiled: Tiled, operands: list[_Operand], split: Split, larger: _Side | None, *, short: bool) -> list[str]:
    """The kernel's lines for the product; of rows and columns that hold an infinity or NaN from the high parts alone."""
    name, (bounds, stop) = tiled.product.name, tiled.depth("PADDED" if short else "padded")
    inside = [line for operand in operands for line in operand.inside]
    if "low" not in split.parts:
        before, loop, after = rounded_sum(name, inside, larger)
    elif larger is not None or short:
        before, loop, after = sum_of_parts(name, inside, larger)
    else:
        before, loop, after = _all_parts(name)
    scales = [f"{side}_scale" for side in ("left", "right") if larger is None or side != larger.name]
    return [
        *bounds,
        *(line for operand in operands for line in operand.before),
        f"{name} = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)",
        *before,
        f"for start in range(0, {stop}, DEPTH):",
        *(f"    {line}" for line in loop),
        *after,
        " * ".join([f"{name} = {name}", *scales]),
    ]


_Sum = tuple[list[str], list[str], list[str]]  # lines before the loop, in it and behind it


def rounded_sum(name: str, inside: list[str], larger: _Side | None) -> _Sum:
    """The sum of the products of rounded operands."""
    product = "tl.dot(left_rounded, right_rounded{})".format("" if larger else f", {name}")
    return [], [*inside, f"{name} += {product} * {larger.name}_scale" if larger else f"{name} = {product}"], []


def sum_of_parts(name: str, inside: list[str], larger: _Side | None) -> _Sum:
    """The sum over blocks of the products of all parts but low times low, in as few registers as possible."""
    scaled = f" * {larger.name}_scale" if larger else ""
    loop = [
        *inside,
        "small = tl.dot(left_high, right_low)",
        "small = tl.dot(left_low, right_high, small)",
        'small = tl.where(tl.abs(small) < float("inf"), small, 0.0) * 2.0**-11',
        f"{name} += tl.dot(left_high, right_high, small){scaled}",
    ]
    return [], loop, []


def _all_parts(name: str) -> _Sum:
    """The same, with the products of low parts summed over all blocks before they are looked at, which takes less time."""
    before = [
        f"small = {name}",
        "# The compiler must not know that this is zero: it would sum in the accumulator, which truncates.",
        f"zero = {name} + left_scale * 0.0",
    ]
    loop = [
        "left = tl.load(left_high_ptr + start)",
        "right = tl.load(right_high_ptr + start)",
        "large = tl.dot(left, right, zero)",
        "small = tl.dot(left, tl.load(right_low_ptr + start), small)",
        "small = tl.dot(tl.load(left_low_ptr + start), right, small)",
        f"{name} += large",
    ]
    after = [f'{name} += tl.where(tl.abs(small) < float("inf"), small, 0.0) * 2.0**-11']
    return before, loop, after
