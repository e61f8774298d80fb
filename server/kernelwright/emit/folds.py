"""Prints a Nest that reduces: a program folds its rows in steps, or a part of them, and a second kernel joins the parts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.carried import (
    Buffers,
    Lanes,
    counts,
    decoded,
    index_names,
    offset,
    part_of,
    product,
    reduced,
    stores,
    told_apart,
    walked,
)
from kernelwright.emit.flat import flat_kernel
from kernelwright.emit.kernel import Kernel
from kernelwright.micro.rewrite.printed import Printed, kernel_source, launcher_source
from kernelwright.micro.rewrite.relies import limits
from kernelwright.nest.form import Axis, Let, Load, Nest, Var, reads
from kernelwright.nest.levels import Carried, Levels, levels, needed
from kernelwright.nest.stages import stages
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.ops.monoids import MONOIDS
from kernelwright.place.layout import call_text
from kernelwright.schedule.forms import Reduction

_BLOCKS = frozenset({"ROWS", "BLOCK", "PARTS"})


@dataclass(frozen=True)
class Written:
    """Kernels, the device functions that they call, and the lines of the launcher that run them."""

    sources: tuple[str, ...]
    helpers: tuple[str, ...]
    launch: tuple[str, ...]


def print_folds(nest: Nest, names: tuple[str, str], words: str, tile: Reduction, existing: str) -> Printed:
    """Kernels, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    kernel_name, launcher = names
    nest = launching.with_local_sizes(nest)
    both = stages(nest)
    first = both.statistics if both else nest
    kernel = f"{kernel_name.removesuffix('_kernel')}_statistics_kernel" if both else kernel_name
    written = [_kernels(first, kernel, words, tile)]
    kept = _kept(first, nest.main.name) if both else []
    if both:
        one = flat_kernel(part_of(both.applied, both.applied.lets), kernel_name, words, tile.applied)
        written.append(Written((one.source,), one.helpers, one.launch))
    launch = [
        *launching.opening(nest, launcher, length=product(nest, levels(first).columns)),
        *launching.allocation(nest, launcher),
        *kept,
        *(line for part in written for line in part.launch),
        launching.returned(nest),
    ]
    sources = [source for part in written for source in part.sources]
    count = {1: "one kernel", 2: "two kernels"}.get(len(sources), "three kernels")
    function = launcher_source(
        launcher, launching.parameters(nest), f"{words} in {count}, in fp32{limits(nest.eager)}.", launch
    )
    helpers = dict.fromkeys(name for part in written for name in part.helpers)
    devices = [DEVICE_FUNCTIONS[name] for name in helpers if f"def {name}(" not in existing]
    return Printed("\n\n\n".join([*devices, *sources, function]), launcher, tile.described)


def _kept(first: Nest, main: str) -> list[str]:
    """The launcher's lines that make the tensors in which statistics are kept."""
    sizes = [axis.extent.text for axis in first.stored.dims]
    shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
    return [f"{name} = {main}.new_empty({shape}, dtype=torch.float32)" for name in first.outputs]


def _kernels(nest: Nest, kernel_name: str, words: str, tile: Reduction) -> Written:
    """The kernel that folds, and the one that joins its parts."""
    found = levels(nest)
    first = _First(nest, found, tile)
    body = first.body()
    n_rows, length = product(nest, found.rows), product(nest, found.columns)
    sizes = [*(["n_rows"] if first.counts_rows else []), "length"]
    blocks: dict[str, object] = {"ROWS": tile.rows} if first.wide_rows else {}
    blocks |= {"BLOCK": tile.block} | ({"PARTS": tile.parts} if tile.parts else {})
    buffers = Buffers(found, launching.is_wide(nest))
    first.kernel.outputs = tuple(buffers.names) if tile.parts else nest.outputs
    main = nest.main.name
    grid = [f"triton.cdiv(n_rows, {tile.rows})" if first.wide_rows else "n_rows"] if first.rows_are_results else []
    grid += [str(tile.parts)] if tile.parts else []
    launch = [
        *([f"n_rows = {n_rows}"] if first.counts_rows or first.rows_are_results else []),
        f"length = {length}",
        *(buffers.lines(main, tile.parts, rows=first.rows_are_results) if tile.parts else []),
        call_text(f"{kernel_name}[{_grid(grid)}]", first.kernel.arguments(sizes, blocks, tile.warps), "", 4),
    ]
    how = _how(first)
    source = kernel_source(kernel_name, first.kernel.parameters(sizes, blocks), f"{words}, {how}.", body)
    if not tile.parts:
        return Written((source,), tuple(first.kernel.helpers), tuple(launch))
    join_name = kernel_name.removesuffix("_kernel") + "_join_kernel"
    second = _Second(nest, found, tile, buffers)
    joined = second.body()
    join_blocks = {"PARTS": tile.parts}
    inputs = list(buffers.names)
    parameters = [*(f"{name}_ptr" for name in inputs), *second.kernel.parameters(second.sizes, join_blocks)]
    join = kernel_source(join_name, parameters, f"{words}: joins the parts.", joined)
    rows = "n_rows" if first.rows_are_results else "1"
    arguments = [*inputs, *second.kernel.arguments(second.sizes, join_blocks, 4)]
    launch.append(call_text(f"{join_name}[({rows},)]", arguments, "", 4))
    return Written((source, join), (*first.kernel.helpers, *second.kernel.helpers), tuple(launch))


def _grid(sizes: Sequence[str]) -> str:
    return f"({', '.join(sizes or ['1'])}{',' if len(sizes) < 2 else ''})"


def _how(first: "_First") -> str:
    if first.levels.inner:
        return "PARTS programs share the rows" if first.tile.parts else "one program walks along all rows"
    rows = ("ROWS rows a program" if first.wide_rows else "one row a program") if first.rows_are_results else ""
    return ", ".join(part for part in (rows, "in PARTS parts" if first.tile.parts else "", "in steps of BLOCK") if part)


class _First:
    """The kernel that reads the elements."""

    def __init__(self, nest: Nest, found: Levels, tile: Reduction) -> None:
        self.levels, self.tile, self.whole_nest = found, tile, nest
        self.rows_are_results = not found.inner and bool(found.rows)
        self.wide_rows = (self.rows_are_results or bool(found.inner)) and (tile.rows > 1 or tile.strip)
        self.counts_rows = self.wide_rows or bool(found.inner)
        self.wide = launching.is_wide(nest)
        self.folds = {name for one in (*found.inner, *found.outer) for name in one.names}
        bodies = [name for one in (*found.inner, *found.outer) for name in reads(one.fold)]
        elements = needed(nest, bodies)
        effects = [effect.name for effect in nest.effects]
        results = [] if tile.parts else needed(nest, (*nest.stored_names, *effects), self.folds)
        lets = [let for let in nest.lets if let in elements or let in results or let.name in self.folds]
        row = "rows" if self.wide_rows else "row"
        self.rows_text = row
        columns = {axis.name for axis in found.columns}
        places = {axis.name: axis.name for axis in nest.axes}
        extents: dict[str, str] = {}
        in_order = told_apart(nest, found.rows)
        self.rows = walked(nest, in_order, strip=tile.strip) if self.rows_are_results else in_order
        if len(self.rows) == 1:
            places[self.rows[0].name] = row
            if self.counts_rows:
                extents[self.rows[0].name] = "n_rows"
        if len(found.columns) == 1:
            places[found.columns[0].name] = "columns"
            extents[found.columns[0].name] = "length"
        flat = ("offsets" if self.rows != in_order else row) if self.rows_are_results else "0"
        lengths = {text: name for name, text in counts(nest, found).items()}
        part = part_of(nest, lets, () if tile.parts else nest.changed)
        self.kernel = Kernel(part, places, extents, flat, self._mask, lengths=lengths, reserved=_BLOCKS)
        self.in_order = in_order
        self.column_axes, self.row_axes = columns, {axis.name for axis in found.rows}
        self.elements = {let.name for let in elements}

    def _mask(self, axes: frozenset[str]) -> str:
        along, across = bool(axes & self.column_axes), bool(axes & self.row_axes) and self.wide_rows
        if along:
            return "mask" if across or not self.wide_rows else "columns < length"
        return "rows < n_rows" if across else ""

    def body(self) -> list[str]:
        tile, found = self.tile, self.levels
        shape, axis, keep = "[BLOCK]", 0, ""
        if self.wide_rows:
            shape, axis = ("[BLOCK, ROWS]", 0) if tile.strip else ("[ROWS, BLOCK]", 1)
            keep = "keep_dims=True"
        self.columns = Lanes(self.kernel, shape, axis, keep, self.wide, "mask", "columns")
        return self._nested() if found.inner else self._single()

    def _single(self) -> list[str]:
        found, tile = self.levels, self.tile
        lets = self.kernel.nest.lets
        head = self._program()
        before = self._lines(let for let in lets if not let.axes & self.column_axes and let.name in self.elements)
        stride = "BLOCK" if not tile.parts else "PARTS * BLOCK"
        start = "0" if not tile.parts else "part * BLOCK"
        loop = self._fold(found.outer, f"range({start}, length, {stride})")
        if tile.parts:
            return [*head, *before, *loop, *self._store_parts()]
        return [*head, *before, *loop, *self._rest()]

    def _nested(self) -> list[str]:
        found = self.levels
        lets = self.kernel.nest.lets
        inner = {name for one in found.inner for name in one.names}
        after = {let.name for let in self._after(inner)}
        plain = [let for let in lets if let.name in self.elements and let.name not in self.folds]
        preamble = self._lines(let for let in plain if not let.axes)
        rows = Lanes(self.kernel, "[ROWS, 1]" if self.wide_rows else "", None, "", self.wide,
                      "rows < n_rows" if self.wide_rows else "", self.rows_text)  # fmt: skip
        begin = [line for one in found.outer for line in rows.begin(one)]
        of_rows = [let for let in plain if let.axes and not let.axes & self.column_axes]
        inside = [
            *self._row_places(),
            *self._lines(let for let in of_rows if let.name not in after),
            *self._fold(found.inner, "range(0, length, BLOCK)"),
            *self._lines(let for let in of_rows if let.name in after),
            *(line for one in found.outer for line in rows.update(one, filled=False)),
        ]
        begin_at, stride = ("part", "PARTS") if self.tile.parts else ("0", "1")
        if self.wide_rows:
            begin_at, stride = ("part * ROWS", "PARTS * ROWS") if self.tile.parts else ("0", "ROWS")
        one = "first" if self.wide_rows else "number" if self.wide else "row"
        loop = f"for {one} in range({begin_at}, n_rows, {stride}):"
        return [
            *(["part = tl.program_id(0)"] if self.tile.parts else []),
            *preamble,
            *begin,
            loop,
            *(f"    {line}" for line in inside),
            *(line for one in found.outer for line in rows.reduce(one)),
            *(self._store_parts() if self.tile.parts else self._rest()),
        ]

    def _rest(self) -> list[str]:
        """What follows the folds, and the stores."""
        lets = self.kernel.nest.lets
        rest = self._lines(let for let in lets if let.name not in self.elements and let.name not in self.folds)
        return [*rest, *self._store()]

    def _after(self, inner: set[str]) -> list[Let]:
        """The lets that depend on what the inner folds make."""
        known = set(inner)
        found = []
        for let in self.kernel.nest.lets:
            if let.name not in known and known & set(reads(let.expr)):
                known.add(let.name)
                found.append(let)
        return found

    def _fold(self, folds: Sequence[Carried], steps: str) -> list[str]:
        """The loop over columns."""
        columns, kernel = self.columns, self.kernel
        filled = {one.names: self._filled(one, folds) for one in folds}
        others = {one.fold.body.name: MONOIDS[one.fold.monoid].blank for one in folds if filled[one.names]}  # type: ignore[union-attr]
        body = self._column_places()
        for let in kernel.nest.lets:
            if let.axes & self.column_axes and let.name not in self.folds:
                body += kernel.lines(let, other=_other(others.get(let.name)))
        body += [line for one in folds for line in columns.update(one, filled=filled[one.names])]
        return [
            *(line for one in folds for line in columns.begin(one)),
            f"for start in {steps}:",
            *(f"    {line}" for text in body for line in text.split("\n")),
            *(line for one in folds for line in columns.reduce(one)),
        ]

    def _filled(self, one: Carried, folds: Sequence[Carried]) -> bool:
        """Whether the body is a load that can bring the fold's unit where nothing is read."""
        if not isinstance(one.fold.body, Var) or not MONOIDS[one.fold.monoid].blank:
            return False
        same = {MONOIDS[other.fold.monoid].blank for other in folds if other.fold.body == one.fold.body}
        let = next(let for let in self.kernel.nest.lets if let.name == one.fold.body.name)
        whole = let.axes & self.column_axes and (let.axes & self.row_axes or not self.wide_rows)
        return (
            isinstance(let.expr, Load)
            and not let.expr.inside
            and let.kind == "float"
            and len(same) == 1
            and bool(whole)
        )

    def _lines(self, lets: Iterable[Let]) -> list[str]:
        return [line for let in lets for line in self.kernel.lines(let)]

    def _program(self) -> list[str]:
        wide = ".to(tl.int64)" if self.wide else ""
        part = "part = tl.program_id(1)" if self.rows_are_results else "part = tl.program_id(0)"
        lines = []
        if self.rows_are_results and self.wide_rows:
            lanes = "[None, :]" if self.tile.strip else "[:, None]"
            lines.append(f"rows = tl.program_id(0){wide} * ROWS + tl.arange(0, ROWS){lanes}")
        elif self.rows_are_results:
            lines.append(f"row = tl.program_id(0){wide}")
        lines += [*([part] if self.tile.parts else []), *self._decoded(self.rows, self.rows_text)]
        loads = [let.expr for let in self.kernel.nest.lets if isinstance(let.expr, Load)]
        stored = not self.tile.parts or any(map(self.kernel.is_flat, loads))
        return [*lines, *(_offsets(self.kernel, self.in_order) if stored else [])]

    def _row_places(self) -> list[str]:
        wide = ".to(tl.int64)" if self.wide and self.wide_rows else ""
        lines = ["row = tl.cast(number, tl.int64)"] if self.wide and not self.wide_rows else []
        lines += [f"rows = first + tl.arange(0, ROWS){wide}[:, None]"] if self.wide_rows else []
        return [*lines, *self._decoded(self.rows, self.rows_text)]

    def _column_places(self) -> list[str]:
        lanes = ""
        if self.wide_rows:
            lanes = "[:, None]" if self.tile.strip else "[None, :]"
        mask = "(rows < n_rows) & (columns < length)" if self.wide_rows else "columns < length"
        wide = ".to(tl.int64)" if self.wide else ""
        return [
            f"columns = start + tl.arange(0, BLOCK){wide}{lanes}",
            f"mask = {mask}",
            *self._decoded(self.levels.columns, "columns"),
        ]

    def _decoded(self, axes: tuple[Axis, ...], flat: str) -> list[str]:
        return decoded(self.kernel, axes, flat)

    def _store_parts(self) -> list[str]:
        at = "part" if not self.rows_are_results else f"{self.rows_text} * PARTS + part"
        mask = ", mask=rows < n_rows" if self.rows_are_results and self.wide_rows else ""
        names = [name for one in self.levels.outer for name in one.names]
        return [f"tl.store({name}_parts_ptr + {at}, {name}{mask})" for name in names]

    def _store(self) -> list[str]:
        at = f" + {self.kernel.flat}" if self.rows_are_results else ""
        mask = ", mask=rows < n_rows" if self.wide_rows and self.rows_are_results else ""
        return stores(self.whole_nest, at, mask)


def _offsets(kernel: Kernel, axes: Sequence[Axis]) -> list[str]:
    """The line that says where results are stored, unless it is in the order of the rows."""
    return [f"offsets = {offset(kernel, axes)}"] if kernel.flat == "offsets" else []


def _other(unit: str | None) -> str:
    return "0" if unit in (None, "0.0") else str(unit)


class _Second:
    """The kernel that joins the parts, one row a program."""

    def __init__(self, nest: Nest, found: Levels, tile: Reduction, buffers: Buffers) -> None:
        self.nest, self.levels, self.tile, self.buffers = nest, found, tile, buffers
        self.in_order = () if found.inner else told_apart(nest, found.rows)
        self.rows = walked(nest, self.in_order, strip=tile.strip)
        names = {name for one in found.outer for name in one.names}
        wanted = (*nest.stored_names, *(effect.name for effect in nest.effects))
        lets = [let for let in needed(nest, wanted, names) if let.name not in names]
        places = {axis.name: axis.name for axis in nest.axes}
        if len(self.rows) == 1:
            places[self.rows[0].name] = "row"
        flat = ("offsets" if self.rows != self.in_order else "row") if self.rows else "0"
        part = part_of(nest, lets, nest.changed)
        sizes = counts(nest, found)
        read = {nest.sizes.get(name) for let in lets for name in index_names(let)}
        self.sizes = [name for name, text in sizes.items() if text in read]
        lengths = {text: name for name, text in sizes.items()}
        self.kernel = Kernel(
            part, places, {}, flat, lambda axes: "", outputs=nest.outputs, lengths=lengths, reserved=_BLOCKS
        )

    def body(self) -> list[str]:
        kernel, rows = self.kernel, self.rows
        wide = ".to(tl.int64)" if launching.is_wide(self.nest) else ""
        head = [f"row = tl.program_id(0){wide}"] if rows else []
        turned = _offsets(kernel, self.in_order)
        head += [*decoded(kernel, rows, "row"), *turned] if turned or any(let.axes for let in kernel.nest.lets) else []
        head.append("parts = row * PARTS + tl.arange(0, PARTS)" if rows else "parts = tl.arange(0, PARTS)")
        for one in self.levels.outer:
            head += [f"{name} = tl.load({self.buffers.of[name]}_ptr + parts)" for name in one.names]
            head += reduced(kernel, one, one.names, 0, "")
        lines = [line for let in kernel.nest.lets for line in kernel.lines(let)]
        return [*head, *lines, *stores(self.nest, f" + {kernel.flat}" if rows else "", "")]
