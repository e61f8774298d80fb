"""Prints a Nest with running folds: a program walks along rows, whole or in steps that carry what came before."""

from kernelwright.emit import launcher as launching
from kernelwright.emit.kernel import Kernel
from kernelwright.emit.row_tile import RowTile
from kernelwright.micro.rewrite.printed import Printed, kernel_source, launcher_source
from kernelwright.micro.rewrite.relies import limits
from kernelwright.nest.form import Axis, Fold, Let, Nest
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.ops.folds import FOLDS
from kernelwright.place.layout import call_text
from kernelwright.schedule.forms import Scan


def print_scan(nest: Nest, names: tuple[str, str], words: str, tile: Scan, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    kernel_name, launcher = names
    nest = launching.with_local_sizes(nest)
    before, (along,), after = _split(nest)
    writer = _Writer(nest, tile, before, along, after)
    body = writer.body()
    kernel = writer.kernel
    length = along.extent.text
    sizes = ["length", "inner"] if tile.strip else ["n_rows", "length"] if tile.across > 1 else ["length"]
    block = str(tile.block) if tile.block else "triton.next_power_of_2(length)"
    blocks = ({tile.across_name: str(tile.across)} if tile.across_name else {}) | {"BLOCK": block}
    outer = _product(before)
    if tile.strip:
        geometry = [f"inner = {_product(after)}", f"outer = {outer}"]
        grid = f"outer * triton.cdiv(inner, {tile.across})"
    else:
        geometry = ["n_rows = out.numel() // length"]
        grid = "n_rows" if tile.across == 1 else f"triton.cdiv(n_rows, {tile.across})"
    launch = [
        *launching.opening(nest, launcher, length=length, longest=tile.longest),
        *launching.allocation(nest, launcher),
        f"length = {length}",
        *geometry,
        f"grid = ({grid},)",
        call_text(f"{kernel_name}[grid]", kernel.arguments(sizes, blocks, tile.warps), "", 4),
        "return out",
    ]
    how = "STRIP columns a program" if tile.strip else "ROWS rows a program" if tile.across > 1 else "one row a program"
    doc = f"{words}, {how}{', in steps of BLOCK' if tile.block else ''}."
    function = launcher_source(
        launcher, launching.parameters(nest), f"{words} in one kernel, in fp32{limits(nest.eager)}.", launch
    )
    source = kernel_source(kernel_name, kernel.parameters(sizes, blocks), doc, body)
    helpers = [DEVICE_FUNCTIONS[name] for name in kernel.helpers if f"def {name}(" not in existing]
    return Printed("\n\n\n".join([*helpers, source, function]), launcher, tile.described)


def _split(nest: Nest) -> tuple[tuple[Axis, ...], tuple[Axis, ...], tuple[Axis, ...]]:
    """The axes in front of the one that is scanned, that one, and those behind it."""
    over = nest.running[0].over[0]
    spatial = nest.spatial
    at = next(number for number, axis in enumerate(spatial) if axis.name == over)
    return spatial[:at], spatial[at : at + 1], spatial[at + 1 :]


def _product(axes: tuple[Axis, ...]) -> str:
    texts = [axis.extent.text for axis in axes if axis.extent.text != "1"]
    return " * ".join(f"({text})" if " " in text else text for text in texts) or "1"


class _Writer:
    """The body of the kernel for one tile."""

    def __init__(self, nest: Nest, tile: Scan, before: tuple[Axis, ...], along: Axis, after: tuple[Axis, ...]) -> None:
        self.nest, self.tile, self.before, self.along, self.after = nest, tile, before, along, after
        self.reverse = nest.running[0].reverse
        self.lanes = RowTile(tile.across, tile.strip, launching.is_wide(nest))
        places = {axis.name: axis.name for axis in nest.axes} | {along.name: "columns"}
        extents = {along.name: "length"}
        if len(before) == 1:
            places[before[0].name] = self.lanes.outer
        if len(after) == 1:
            places[after[0].name] = "positions"
            extents[after[0].name] = "inner"
        self.kernel = Kernel(nest, places, extents, "offsets", self._mask)

    def body(self) -> list[str]:
        decoded = [*self._decoded(self.before, self.lanes.outer), *self._decoded(self.after, "positions")]
        head = [*self.lanes.program(), *decoded]
        lets = [let for let in self.nest.lets if self.along.name not in let.axes]
        outside = [line for let in lets for line in self.kernel.lines(let)]
        if not self.tile.block:
            return [*head, *self.lanes.places("", reverse=self.reverse), *outside, *self._along({})]
        carries = {let.name: self._carry(number) for number, let in enumerate(self._scans())}
        start = [f"{name} = {self._unit(let)}" for let, name in zip(self._scans(), carries.values(), strict=True)]
        inner = [*self.lanes.places("start", reverse=self.reverse), *self._along(carries)]
        return [*head, *outside, *start, "for start in range(0, length, BLOCK):", *(f"    {line}" for line in inner)]

    def _scans(self) -> list[Let]:
        return [let for let in self.nest.lets if isinstance(let.expr, Fold)]

    def _carry(self, number: int) -> str:
        return "carry" if number == 0 else f"carry_{number + 1}"

    def _unit(self, let: Let) -> str:
        assert isinstance(let.expr, Fold)
        monoid = FOLDS[let.expr.monoid]
        shape = "[1, STRIP]" if self.tile.strip else "[ROWS, 1]" if self.tile.across > 1 else ""
        return f"tl.full({shape}, {monoid.fill}, dtype=tl.float32)" if shape else monoid.fill

    def _along(self, carries: dict[str, str]) -> list[str]:
        """The lines that depend on the place along the row, and the store."""
        found: list[str] = []
        for let in self.nest.lets:
            if self.along.name not in let.axes:
                continue
            found += self._scan(let, carries.get(let.name)) if isinstance(let.expr, Fold) else self.kernel.lines(let)
        return [*found, f"tl.store(out_ptr + offsets, {self.nest.stored.name}, mask=mask)"]

    def _scan(self, let: Let, carry: str | None) -> list[str]:
        kernel, fold = self.kernel, let.expr
        assert isinstance(fold, Fold)
        monoid = FOLDS[fold.monoid]
        axis = self.lanes.axis
        lines = [] if not fold.inside or kernel.filled(fold) else kernel.condition(fold.inside, "mask")
        value = kernel.folded(fold, "mask")
        scanned = monoid.scanned(value, axis)
        if not monoid.scan:
            kernel.helpers[monoid.device] = None
        if carry is None:
            return [*lines, f"{let.name} = {scanned}"]
        # Lanes past the end count as the unit; nothing comes after them but the end of the loop.
        total = monoid.reduced(value, axis, self.lanes.keep)
        if monoid.device:
            kernel.helpers[monoid.device] = None
        return [
            *lines,
            f"{let.name} = {monoid.joined.format(carry, scanned)}",
            f"{carry} = {monoid.joined.format(carry, total)}",
        ]

    def _mask(self, axes: frozenset[str]) -> str:
        """The condition for a load that depends on these axes."""
        before, after = ({axis.name for axis in some} for some in (self.before, self.after))
        along = self.along.name in axes
        return self.lanes.masked(along=along, side=along or self.lanes.depends(axes, before, after))

    def _decoded(self, axes: tuple[Axis, ...], flat: str) -> list[str]:
        """The places along several axes that a program's row, or column, stands for."""
        if len(axes) < 2:
            return []
        lines = []
        for at, axis in enumerate(axes):
            inner = " * ".join(self.kernel.index_name(later) for later in axes[at + 1 :])
            text = flat if not inner else f"{flat} // ({inner})" if " " in inner else f"{flat} // {inner}"
            lines.append(f"{axis.name} = {text}" + (f" % {self.kernel.index_name(axis)}" if at else ""))
        return lines
