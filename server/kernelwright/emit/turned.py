"""Prints a Nest of which an operand lies in memory the other way round than the result: a tile of results a program.

Neighbours of the operand are loaded side by side, and those of the result are stored so; Triton exchanges the tile between the
threads in shared memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.body import Body
from kernelwright.emit.flat import Made, decoded, launched
from kernelwright.emit.kernel import Kernel
from kernelwright.micro.rewrite.printed import Printed, kernel_source
from kernelwright.nest.form import Axis, Nest
from kernelwright.nest.sizes import product_text
from kernelwright.nest.turned import turned
from kernelwright.place.layout import call_text
from kernelwright.schedule.forms import Tiles


@dataclass(frozen=True)
class _Side:
    """Axes that a program runs through as one: `name` is the place along them, `size` the constant for a tile's side."""

    axes: tuple[Axis, ...]
    name: str
    size: str = ""
    slot: str = ""

    @property
    def captured(self) -> int:
        number = 1
        for axis in self.axes:
            number *= axis.extent.captured
        return number

    @property
    def text(self) -> str:
        """The extent as the launcher writes it."""
        return product_text([axis.extent.text for axis in self.axes])

    def extent(self, kernel: Kernel) -> str:
        """The extent as the kernel knows it."""
        return " * ".join(kernel.index_name(axis) for axis in self.axes)

    def places(self, program: str) -> str:
        """The line that says where along the side the tile is that has the number `program`."""
        return f"{self.name} = {program} * {self.size} + tl.arange(0, {self.size}){self.slot}"


def print_turned(nest: Nest, names: tuple[str, str], words: str, tile: Tiles, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    kernel_name, launcher = names
    nest = launching.with_local_sizes(nest)
    return launched(nest, _kernel(nest, kernel_name, words, tile), launcher, words, tile.described, existing)


def _kernel(nest: Nest, name: str, words: str, tile: Tiles) -> Made:
    sides = turned(nest)
    assert sides is not None, "the form has been checked"
    outer = _Side(sides.outer, _name(sides.outer, "outer"))
    rows = _Side(sides.rows, _name(sides.rows, "position"), "ROWS", "[:, None]")
    several = "position" if len(sides.rows) == 1 else "places"
    columns = _Side(sides.columns, _name(sides.columns, several), "COLUMNS", "[None, :]")
    kernel = Kernel(
        nest,
        {axis.name: axis.name for axis in nest.axes},
        {},
        "offsets",
        lambda axes: _mask(kernel, axes, rows, columns),
        reserved=frozenset({"ROWS", "COLUMNS"}),
    )
    sizes = {"ROWS": tile.rows, "COLUMNS": tile.columns}
    long, short = sorted((rows, columns), key=lambda side: -side.captured)
    body = [
        *_places(kernel, outer, long, short, ".to(tl.int64)" if launching.is_wide(nest) else ""),
        f"mask = {' & '.join(f'({side.name} < {side.extent(kernel)})' for side in (rows, columns))}",
        f"offsets = {_offsets(kernel, (outer, rows, columns))}",
        *(
            line
            for side in (outer, rows, columns)
            if len(side.axes) > 1
            for line in decoded(kernel, side.axes, side.name)
        ),
        *Body(kernel, "[ROWS, COLUMNS]").lines(),
        f"tl.store(out_ptr + offsets, {nest.stored.name}, mask=mask)",
    ]
    launch = (
        f"tiles = triton.cdiv({long.text}, {sizes[long.size]})",
        f"grid = ({f'{outer.text} * tiles' if outer.axes else 'tiles'}, triton.cdiv({short.text}, {sizes[short.size]}))",
        call_text(f"{name}[grid]", kernel.arguments([], sizes, tile.warps), "", 4),
    )
    source = kernel_source(name, kernel.parameters([], sizes), f"{words}, a tile of results a program.", body)
    return Made(source, tuple(kernel.helpers), launch)


def _name(axes: Sequence[Axis], several: str) -> str:
    return axes[0].name if len(axes) == 1 else several


def _places(kernel: Kernel, outer: _Side, long: _Side, short: _Side, wide: str) -> list[str]:
    """Where the tile of a program is; the longer side goes with what is outside of the tile."""
    if not outer.axes:
        return [long.places(f"tl.program_id(0){wide}"), short.places("tl.program_id(1)")]
    return [
        f"tiles = tl.cdiv({long.extent(kernel)}, {long.size})",
        f"{outer.name} = tl.program_id(0){wide} // tiles",
        long.places("tl.program_id(0) % tiles"),
        short.places("tl.program_id(1)"),
    ]


def _offsets(kernel: Kernel, sides: Sequence[_Side]) -> str:
    """The place of each result in memory."""
    text = ""
    for side in sides:
        if not side.axes:
            continue
        if not text:
            text = side.name
            continue
        extent = side.extent(kernel)
        factor = f"({extent})" if " " in extent else extent
        text = f"{f'({text})' if ' ' in text else text} * {factor} + {side.name}"
    return text


def _mask(kernel: Kernel, axes: frozenset[str], rows: _Side, columns: _Side) -> str:
    """The condition for what depends on some axes."""
    asked = [side for side in (rows, columns) if axes & {axis.name for axis in side.axes}]
    if len(asked) == 1:
        return f"{asked[0].name} < {asked[0].extent(kernel)}"
    return "mask" if asked else ""
