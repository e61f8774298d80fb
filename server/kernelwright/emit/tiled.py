"""What kernels of a matrix product share: which tile of the result a program makes, and how the launcher starts them."""

from collections.abc import Collection, Iterable, Sequence

from kernelwright.emit import launcher as launching
from kernelwright.emit.kernel import Kernel
from kernelwright.nest.form import Apply, Axis, Const, Contract, Held, Inside, Let, Nest, Var, reads
from kernelwright.nest.index import Index
from kernelwright.nest.roles import roles
from kernelwright.place.layout import call_text

_BLOCKS = frozenset({"ROWS", "COLUMNS", "DEPTH", "GROUP"})


class Tiled:
    """A Nest with a matrix product whose kernel makes a tile of ROWS by COLUMNS a program."""

    def __init__(self, nest: Nest) -> None:
        self.nest, self.roles = nest, roles(nest)
        self.lets = {let.name: let for let in nest.lets}
        self.product = next(let for let in nest.lets if isinstance(let.expr, Contract))
        axes = self.roles
        places = {axis.name: axis.name for axis in axes.batch}
        places |= {axes.row.name: "rows", axes.column.name: "columns", axes.inner.name: "left_inner"}
        places |= {part.name: f"{part.name}s" for part in axes.column.parts}
        places |= {part.name: part.name for part in axes.inner.parts}
        extents = {axes.row.name: "n_rows", axes.column.name: "n_columns", axes.inner.name: "depth"}
        self.kernel = Kernel(nest, places, extents, "offsets", self.mask, reserved=_BLOCKS)

    @property
    def wide(self) -> str:
        """The conversion of indices of which products need 64 bits."""
        return ".to(tl.int64)" if launching.is_wide(self.nest) else ""

    def depth(self, whole: str) -> tuple[list[str], str]:
        """The lines that say how far the product of a tile goes, and its name: nowhere where a mask leaves out the tile."""
        kept = _kept(self.nest, self.product.name)
        if kept is None:
            return [], whole
        lines = self.kernel.condition(kept, "")
        inside = self.kernel.conditions[kept, ""]
        return [*lines, f"stop = tl.max(tl.max({inside}.to(tl.int32), 1), 0) * {whole}"], "stop"

    def needed(self, name: str) -> list[Let]:
        """The lets that one operand is made of, in order."""
        wanted, stack = set(), [name]
        while stack:
            one = stack.pop()
            if one in self.lets and one not in wanted:
                wanted.add(one)
                stack += reads(self.lets[one].expr)
        return [let for let in self.nest.lets if let.name in wanted]

    def lines(self, lets: Collection[Let]) -> list[str]:
        """The lines of lets that hold no product."""
        return [line for let in lets for line in self.kernel.lines(let)]

    def mask(self, axes: frozenset[str]) -> str:
        """The condition for a load that depends on these axes."""
        if {self.roles.row.name, self.roles.column.name} <= axes:
            return "mask"
        parts = [
            f"{self.kernel.places[axis.name]} < {self.kernel.extents[axis.name]}"
            for axis in (self.roles.row, self.roles.column, self.roles.inner)
            if axis.name in axes
        ]
        return " & ".join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)

    def program(self, lets: Iterable[Let] | None = None) -> list[str]:
        """The rows and columns of a program: GROUP rows of tiles column by column, so that operands are in the cache.

        Columns are taken apart as far as `lets` ask for it: all of them, if they are not given.
        """
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
            lines.append(f"{axis.name} = tl.program_id(0){self.wide} // {later}{modulo}")
        return [
            *lines,
            "first = tile // (GROUP * column_tiles) * GROUP",
            "height = tl.minimum(tl.cdiv(n_rows, ROWS) - first, GROUP)",
            "number = tile % (GROUP * column_tiles)",
            f"rows = (first + number % height){self.wide} * ROWS + tl.arange(0, ROWS)[:, None]",
            f"columns = (number // height){self.wide} * COLUMNS + tl.arange(0, COLUMNS)[None, :]",
            *self.parts(
                self.roles.column, "columns", self.nest.lets if lets is None else lets, self.nest.stored.places
            ),
            *self._places(),
        ]

    def parts(self, axis: Axis, whole: str, lets: Iterable[Let], places: Iterable[Index] = ()) -> list[str]:
        """The lines that take apart the places `whole` along an axis, as far as lets or places ask for its parts."""
        asked = {name for index in places for name in index.names()}
        asked |= {name for let in lets for name in reads(let.expr)}
        lines: list[str] = []
        for at, part in enumerate(axis.parts):
            if part.name not in asked:
                continue
            later = [size for one in axis.parts[at + 1 :] if (size := self.kernel.index_name(one)) != "1"]
            inner = f"({' * '.join(later)})" if len(later) > 1 else "".join(later)
            text = f"{whole} // {inner}" if inner else whole
            modulo = f" % {self.kernel.index_name(part)}" if at else ""
            lines.append(f"{self.kernel.places[part.name]} = {text}{modulo}")
        return lines

    def ending(self, after: Sequence[str], *, streamed: bool = False) -> list[str]:
        """The lines behind the product: what is done on the tile, and where it goes; `streamed` past what is in the cache."""
        how = ', cache_modifier=".cs"' if streamed else ""
        return [
            " & ".join(["mask = (rows < n_rows) & (columns < n_columns)", *self._there()]),
            f"offsets = {self._offsets()}",
            *after,
            f"tl.store(out_ptr + offsets, {self.nest.stored.name}, mask=mask{how})",
        ]

    def launch(
        self, names: tuple[str, str], tile: tuple[int, int], prepared: Sequence[str], arguments: Sequence[str]
    ) -> list[str]:
        """The body of the launcher; `names` are those of kernel and launcher, `prepared` lines come before the grid."""
        axes = self.roles
        return [
            *launching.opening(self.nest, names[1]),
            *launching.allocation(self.nest, names[1]),
            f"n_rows = {axes.row.extent.text}",
            f"n_columns = {axes.column.extent.text}",
            f"depth = {axes.inner.extent.text}",
            *prepared,
            *self.started(names[0], tile, arguments),
            "return out",
        ]

    def started(self, kernel: str, tile: tuple[int, int], arguments: Sequence[str]) -> list[str]:
        """The launcher's lines that launch a kernel with tiles of this size."""
        batches = " * ".join(axis.extent.text for axis in self.roles.batch)
        return [
            f"tiles = triton.cdiv(n_rows, {tile[0]}) * triton.cdiv(n_columns, {tile[1]})",
            f"grid = ({batches} * tiles,)" if batches else "grid = (tiles,)",
            call_text(f"{kernel}[grid]", arguments, "", 4),
        ]

    def _places(self) -> list[str]:
        """The lines that name the places in dims of the result that are split."""
        stored, lines = self.nest.stored, list[str]()
        for dim, place in zip(stored.dims, stored.places, strict=bool(stored.places)):
            if place.name is None:
                lines.append(f"out_{dim.name}s = {self.kernel.index(place)}")
                self.kernel.named[place] = f"out_{dim.name}s"
        return lines

    def _there(self) -> list[str]:
        """The conditions for places that split dims may not have."""
        index = self.kernel.index
        return [
            f"({index(one.index)} < {index(one.limit)})" for one in self.nest.stored.inside if one.limit is not None
        ]

    def _offsets(self) -> str:
        if self.nest.stored.places:
            return self._placed()
        text = ""
        for axis in self.roles.batch:
            text = f"({text}) * {self.kernel.index_name(axis)} + {axis.name}" if text else axis.name
        if not text:
            return "rows * n_columns + columns"
        text = f"({text})" if " " in text else text
        return f"({text} * n_rows + rows) * n_columns + columns"

    def _placed(self) -> str:
        """The offset of a result whose dims are split."""
        stored, names = self.nest.stored, {axis.name: name for axis, name in launching.local_sizes(self.nest)}
        text = ""
        for dim, place in zip(stored.dims, stored.places, strict=True):
            size = names.get(dim.name, dim.extent.text)
            size = self.kernel.constant(size, f"OUT_{dim.name.upper()}")
            text = f"({text}) * {size}" if " " in text else f"{text} * {size}" if text else ""
            text = " + ".join(part for part in (text, self.kernel.index(place)) if part)
        return text


def _kept(nest: Nest, product: str) -> tuple[Inside, ...] | None:
    """Where the product counts, if all else of it becomes zero: that of a triangle."""
    users = [let.expr for let in nest.lets if product in reads(let.expr)]
    match users:
        case [Apply("where", (Held(inside), Var(name), Const(0.0)))] if name == product:
            return inside
    return None
