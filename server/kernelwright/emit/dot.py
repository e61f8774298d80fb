"""Prints a Nest with a matrix product: a program makes a tile of the result, with all that follows done on the tile."""

from collections.abc import Collection
from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.kernel import Kernel
from kernelwright.micro.rewrite.triton_printer import Printed, kernel_source, launcher_source
from kernelwright.nest.form import Contract, Let, Load, Nest, reads
from kernelwright.nest.refused import NotExpressible
from kernelwright.nest.roles import Roles, roles
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.place.layout import call_text

_GROUP = 8  # rows of tiles that are made together, so that they find their operands in the cache


@dataclass(frozen=True)
class Tile:
    """ROWS by COLUMNS results a program, in steps of DEPTH.

    `precision` is that of `tl.dot`: fp32 operands as sums of three TF32 products, or of six of bfloat16 parts. Both are as
    accurate as fp32 arithmetic.
    """

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int
    precision: str

    @property
    def described(self) -> str:
        size = f"ROWS={self.rows}, COLUMNS={self.columns}, DEPTH={self.depth}"
        return f"{size}, {self.precision}, num_warps={self.warps}, num_stages={self.stages}"


TILES = tuple(
    Tile(*size, precision)
    for size in ((128, 128, 32, 8, 3), (128, 64, 32, 4, 3), (64, 64, 32, 4, 4), (128, 256, 32, 8, 3))
    for precision in ("tf32x3", "bf16x6")
)


def print_dot(nest: Nest, names: tuple[str, str], words: str, tile: Tile, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    kernel_name, launcher = names
    nest = launching.with_local_sizes(nest)
    writer = _Writer(nest, roles(nest), tile)
    body, kernel, axes = writer.body(), writer.kernel, writer.roles
    blocks = {"ROWS": tile.rows, "COLUMNS": tile.columns, "DEPTH": tile.depth, "GROUP": _GROUP}
    sizes = ["n_rows", "n_columns", "depth"]
    tiles = f"triton.cdiv(n_rows, {tile.rows}) * triton.cdiv(n_columns, {tile.columns})"
    batches = " * ".join(axis.extent.text for axis in axes.batch)
    launch = [
        *launching.opening(nest, launcher),
        *launching.allocation(nest, launcher),
        f"n_rows = {axes.row.extent.text}",
        f"n_columns = {axes.column.extent.text}",
        f"depth = {axes.inner.extent.text}",
        f"tiles = {tiles}",
        f"grid = ({batches} * tiles,)" if batches else "grid = (tiles,)",
        call_text(
            f"{kernel_name}[grid]",
            [*kernel.arguments(sizes, blocks, tile.warps), f"num_stages={tile.stages}"],
            "",
            4,
        ),
        "return out",
    ]
    function = launcher_source(launcher, launching.parameters(kernel), f"{words} in one kernel; forward only.", launch)
    source = kernel_source(
        kernel_name, kernel.parameters(sizes, blocks), f"{words}, a tile of ROWS by COLUMNS a program.", body
    )
    helpers = [DEVICE_FUNCTIONS[name] for name in kernel.helpers if f"def {name}(" not in existing]
    return Printed("\n\n\n".join([*helpers, source, function]), launcher, tile.described)


class _Writer:
    """The body of the kernel for one tile."""

    def __init__(self, nest: Nest, axes: Roles, tile: Tile) -> None:
        self.nest, self.roles, self.tile = nest, axes, tile
        self.lets = {let.name: let for let in nest.lets}
        self.product = next(let for let in nest.lets if isinstance(let.expr, Contract))
        places = {axis.name: axis.name for axis in axes.batch}
        places |= {axes.row.name: "rows", axes.column.name: "columns", axes.inner.name: "left_inner"}
        extents = {axes.row.name: "n_rows", axes.column.name: "n_columns", axes.inner.name: "depth"}
        self.kernel = Kernel(nest, places, extents, "offsets", self._mask)

    def body(self) -> list[str]:
        assert isinstance(self.product.expr, Contract)
        left, right = (self._needed(name) for name in (self.product.expr.left, self.product.expr.right))
        inner = self.roles.inner.name
        moving = [[let for let in side if inner in let.axes] for side in (left, right)]
        if {let.name for let in moving[0]} & {let.name for let in moving[1]}:
            raise NotExpressible("Both operands of the product read the same elements.")
        within = {let.name for side in moving for let in side} | {self.product.name}
        outside = [let for let in self.nest.lets if let.name not in within]
        early = {let.name for side in (left, right) for let in side}
        kernel = self.kernel
        before = [line for let in outside if let.name in early for line in kernel.lines(let)]
        loop = ["left_inner = start + tl.arange(0, DEPTH)[None, :]", *self._side(moving[0])]
        kernel.places = {**kernel.places, inner: "right_inner"}
        loop += ["right_inner = start + tl.arange(0, DEPTH)[:, None]", *self._side(moving[1])]
        operands = [self._operand(name) for name in (self.product.expr.left, self.product.expr.right)]
        name = self.product.name
        loop.append(f'{name} = tl.dot({operands[0]}, {operands[1]}, {name}, input_precision="{self.tile.precision}")')
        after = [line for let in outside if let.name not in early for line in kernel.lines(let)]
        return [
            *self._program(),
            *before,
            f"{name} = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)",
            "for start in range(0, depth, DEPTH):",
            *(f"    {line}" for line in loop),
            "mask = (rows < n_rows) & (columns < n_columns)",
            f"offsets = {self._offsets()}",
            *after,
            f"tl.store(out_ptr + offsets, {self.nest.stored.name}, mask=mask)",
        ]

    def _needed(self, name: str) -> list[Let]:
        """The lets that one operand is made of, in order."""
        wanted, stack = set(), [name]
        while stack:
            one = stack.pop()
            if one in self.lets and one not in wanted:
                wanted.add(one)
                stack += reads(self.lets[one].expr)
        return [let for let in self.nest.lets if let.name in wanted]

    def _side(self, lets: Collection[Let]) -> list[str]:
        return [line for let in lets for line in self.kernel.lines(let)]

    def _operand(self, name: str) -> str:
        """An operand of the product, zero past the end of the inner axis."""
        let = self.lets[name]
        if isinstance(let.expr, Load):
            return name
        return f"tl.where({self._mask(let.axes)}, {name}, 0.0)"

    def _mask(self, axes: frozenset[str]) -> str:
        """The condition for a load that depends on these axes."""
        if {self.roles.row.name, self.roles.column.name} <= axes:
            return "mask"
        parts = [
            f"{self.kernel.places[axis.name]} < {self.kernel.extents[axis.name]}"
            for axis in (self.roles.row, self.roles.column, self.roles.inner)
            if axis.name in axes
        ]
        return " & ".join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)

    def _program(self) -> list[str]:
        """Which tile a program makes: GROUP rows of tiles column by column, so that operands are found in the cache."""
        wide = ".to(tl.int64)" if launching.is_wide(self.nest) else ""
        batch = self.roles.batch
        lines = ["column_tiles = tl.cdiv(n_columns, COLUMNS)"]
        if batch:
            lines += ["tiles = tl.cdiv(n_rows, ROWS) * column_tiles", "tile = tl.program_id(0) % tiles"]
        else:
            lines.append("tile = tl.program_id(0)")
        for at, axis in enumerate(batch):
            later = " * ".join(["tiles", *(self.kernel.index_name(one) for one in batch[at + 1 :])])
            later = f"({later})" if " " in later else later
            modulo = f" % {self.kernel.index_name(axis)}" if at else ""
            lines.append(f"{axis.name} = tl.program_id(0){wide} // {later}{modulo}")
        return [
            *lines,
            "first = tile // (GROUP * column_tiles) * GROUP",
            "height = tl.minimum(tl.cdiv(n_rows, ROWS) - first, GROUP)",
            "number = tile % (GROUP * column_tiles)",
            f"rows = (first + number % height){wide} * ROWS + tl.arange(0, ROWS)[:, None]",
            f"columns = (number // height){wide} * COLUMNS + tl.arange(0, COLUMNS)[None, :]",
        ]

    def _offsets(self) -> str:
        text = ""
        for axis in self.roles.batch:
            text = f"({text}) * {self.kernel.index_name(axis)} + {axis.name}" if text else axis.name
        if not text:
            return "rows * n_columns + columns"
        text = f"({text})" if " " in text else text
        return f"({text} * n_rows + rows) * n_columns + columns"
