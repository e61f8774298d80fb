"""The lines of a kernel that walks along rows: where its elements are, what it folds, and what it stores."""

import re
from collections.abc import Collection, Iterable, Sequence

from kernelwright.emit import launcher as launching
from kernelwright.emit.carried import index_names, offset, part_of
from kernelwright.emit.flat import asked, places
from kernelwright.emit.kernel import Kernel
from kernelwright.emit.row_passes import EXTREMES, pass_lines
from kernelwright.emit.row_tile import RowTile
from kernelwright.nest.form import Apply, Fold, Let, Load, Nest, Var, reads
from kernelwright.nest.index import variable
from kernelwright.nest.levels import needed
from kernelwright.nest.passes import passes
from kernelwright.nest.rows import axes_of, elements
from kernelwright.nest.sizes import product_text
from kernelwright.ops.folds import FOLDS
from kernelwright.schedule.forms import WalkedRows

_INLINE = re.compile(r"element(_\d+)?")
_BLOCKS = frozenset({"BLOCK", "ROWS", "STRIP", "SPLITS"})


def row_length(nest: Nest) -> str:
    """The launcher's expression for how many elements a row has."""
    assert nest.walk is not None
    if nest.any_rank and nest.walk.columns == nest.walk.order:
        return f"{nest.main.name}.numel()"
    whole, groups = product_along(nest, nest.walk.columns), nest.walk.groups
    return whole if groups is None else f"{whole} // {groups.text}"


def product_along(nest: Nest, names: Sequence[str]) -> str:
    """The launcher's expression for how many elements there are along the axes of these names."""
    texts = [axis.extent.text for axis in axes_of(nest, names)]
    return _shortened(nest, product_text(sorted(texts, key=_first_dim))) if texts else "1"


def _first_dim(text: str) -> int:
    """The first dim that a size is of."""
    found = re.search(r"\[(-?\d+)", text)
    return int(found[1]) if found else 0


def _shortened(nest: Nest, text: str) -> str:
    """A product of sizes without the ends of slices that are those of a shape."""
    for tensor in nest.tensors:
        text = text.replace(f"{tensor.name}.shape[0:{len(tensor.shape)}].numel()", f"{tensor.name}.numel()")
        text = re.sub(rf"\b{tensor.name}\.shape\[(\d+):{len(tensor.shape)}\]", rf"{tensor.name}.shape[\1:]", text)
    return text.replace(".shape[0:", ".shape[:")


class RowBody:
    """The body of a kernel with some of the lets, all where there are none given.

    `span`: the part of a row that a program walks along; `count`: the variable with the number of its elements.
    """

    def __init__(
        self,
        nest: Nest,
        tile: WalkedRows,
        lets: Sequence[Let] | None = None,
        outputs: tuple[str, ...] = ("out",),
        span: str = "0, length",
        count: str = "length",
    ) -> None:
        assert nest.walk is not None
        self.nest, self.tile, self.walk, self.span, self.count = nest, tile, nest.walk, span, count
        self.lets = list(nest.lets if lets is None else lets)
        self.outer, self.columns, self.inner = (
            axes_of(nest, names) for names in (self.walk.outer, self.walk.columns, self.walk.inner)
        )
        self.lanes = RowTile(tile.across, tile.strip, launching.is_wide(nest))
        self.elements = elements(nest)
        self.stored = nest.stored.name in self.elements
        named = {axis.name: axis.name for axis in nest.axes}
        extents: dict[str, str] = {}
        grouped = self.walk.groups is not None
        for axes, place, extent in (
            (() if grouped else self.outer, self.lanes.outer, ""),
            (() if grouped else self.columns, "columns", "length"),
            (self.inner, "positions", "inner"),
        ):
            if len(axes) == 1:
                named[axes[0].name] = place
                extents |= {axes[0].name: extent} if extent else {}
        order, rows = axes_of(nest, self.walk.order), (*self.outer, *self.inner)
        flats = ((order, "offsets"), *(() if grouped or not rows else ((rows, self.lanes.row),)))
        length = row_length(nest)
        lengths = {text: "length" for text in nest.sizes.values() if _shortened(nest, text) == length}
        self.kernel = Kernel(
            part_of(nest, self.lets),
            named,
            extents,
            "",
            self._mask,
            outputs=outputs,
            flats=flats,
            reserved=_BLOCKS,
            lengths=lengths,
        )
        self.inlined = self._inlined()
        read = {name for let in self.lets for name in index_names(let)}
        self.counts = {name: text for name, text in nest.sizes.items() if name in read and text not in lengths}
        self.kernel.lengths = lengths | {text: name for name, text in self.counts.items()}

    def _mask(self, axes: frozenset[str]) -> str:
        along = bool(axes & set(self.walk.columns))
        side = self.lanes.depends(axes, self.walk.outer, self.walk.inner)
        # The place of an element in a group follows from that of its row.
        return self.lanes.masked(along=along, side=side or (along and self.walk.groups is not None))

    # Whole rows, and rows in steps

    def whole(self) -> list[str]:
        """The body of a kernel that keeps a row as a whole."""
        loads = [let for let in self.lets if isinstance(let.expr, Load)]
        body = [*self.program(), *self._tile(""), *self._lines(loads)]
        for let in self.lets:
            if isinstance(let.expr, Fold):
                body += self._folded(let, let.expr)
            elif let not in loads and let.name not in self.inlined:
                body += self.kernel.lines(let)
        return [*body, self.store()]

    def looped(self) -> list[str]:
        """The body of a kernel that passes over a row as often as it folds it, and then to store it."""
        body = [*self.program(), *self.single_loads()]
        ready = set(self.single_names())
        by_fold = {fold.name: one for one in passes(self.nest) for fold in one.folds}
        for let in self.lets:
            if let.name in ready or let.name in self.elements:
                continue
            if let.name in by_fold:
                one = by_fold[let.name]
                body += pass_lines(self, one, ready)
                ready |= one.made
            else:
                body += self.kernel.lines(let)
                ready.add(let.name)
        if not self.stored:
            return [*body, self.store()]
        return [*body, *self.loop([self.nest.stored.name], ready, [self.store()], backwards=self.tile.backwards)]

    def single_loads(self) -> list[str]:
        """The loads of what does not differ within a row."""
        return self._lines(self._singles())

    def single_names(self) -> frozenset[str]:
        """What those loads are called."""
        return frozenset(let.name for let in self._singles())

    def _singles(self) -> list[Let]:
        return [let for let in self.lets if isinstance(let.expr, Load) and let.name not in self.elements]

    def of_rows(self) -> list[Let]:
        """What is computed once for a row."""
        loads_and_folds = (Load, Fold)
        return [let for let in self.lets if let.name not in self.elements and not isinstance(let.expr, loads_and_folds)]

    def loop(
        self, targets: Iterable[str], ready: Collection[str], inside: Sequence[str], *, backwards: bool = False
    ) -> list[str]:
        """A pass over the row that loads and computes what `targets` need, then does `inside`.

        `backwards` begins at the row's end, which the pass before has left in the cache.
        """
        lets = needed(self.nest, [name for name in targets if name not in ready], ready)
        loads = [let for let in lets if isinstance(let.expr, Load)]
        rest = [let for let in lets if let not in loads and let.name not in self.inlined]
        body = [*self._tile("start", lets), *self._lines(loads), *self._lines(rest), *inside]
        stages = self.tile.stages
        steps = f"tl.range({self.span}, BLOCK, num_stages={stages})" if stages else f"range({self.span}, BLOCK)"
        if not backwards:
            return [f"for start in {steps}:", *(f"    {line}" for line in body)]
        return [
            "# Backwards: the end of the row is still in the cache.",
            "last = (length - 1) // BLOCK * BLOCK",
            f"for step in {steps}:",
            "    start = last - step",
            *(f"    {line}" for line in body),
        ]

    def _lines(self, lets: Iterable[Let]) -> list[str]:
        return [line for let in lets for line in self.kernel.lines(let)]

    # Places

    def program(self) -> list[str]:
        """Which rows a program has."""
        strip = ["rows = outer * inner + positions"] if self.tile.strip else []
        return [*self.lanes.program(), *strip, *self.row_places()]

    def row_places(self) -> list[str]:
        """The places along the axes that a row's number stands for, as far as they are asked for."""
        wanted = self._asked(self.lets)
        number = self.lanes.outer
        inner = places(self.kernel, self.inner, "positions", wanted) if len(self.inner) > 1 else []
        if self.walk.groups is None:
            return [*(places(self.kernel, self.outer, number, wanted) if len(self.outer) > 1 else []), *inner]
        if not wanted & set(self.walk.outer):
            return []
        groups = self.walk.groups.text
        groups = groups if groups.isdecimal() else self.kernel.index(variable(groups))
        return places(self.kernel, self.outer, f"({number} // {groups})", wanted)

    def _asked(self, lets: Iterable[Let]) -> set[str]:
        names = {let.name for let in lets}
        some = Kernel(
            part_of(self.nest, [let for let in self.lets if let.name in names]), {}, {}, "", self._mask,
            flats=self.kernel.flats,
        )  # fmt: skip
        return asked(some) | (set() if self._in_order else {axis.name for axis in self.nest.spatial})

    def _tile(self, start: str, lets: Iterable[Let] | None = None) -> list[str]:
        """Places, mask and offsets of a tile; `start` is the variable of the loop."""
        wanted = self._asked(self.lets if lets is None else lets) & set(self.walk.columns)
        if self.walk.groups is not None:
            apart = places(self.kernel, axes_of(self.nest, self.walk.order), "offsets", wanted)
        else:
            apart = places(self.kernel, self.columns, "columns", wanted) if len(self.columns) > 1 else []
        return [*self.lanes.places(start), *apart]

    # Folds

    def _inlined(self) -> frozenset[str]:
        """Elements that are folded and nothing else: they need no name."""
        read = {name for let in self.lets if not isinstance(let.expr, Fold) for name in reads(let.expr)}
        folded = {
            let.expr.body.name for let in self.lets if isinstance(let.expr, Fold) and isinstance(let.expr.body, Var)
        }
        return frozenset(
            let.name
            for let in self.lets
            if let.name in folded - read and _INLINE.fullmatch(let.name) and isinstance(let.expr, Apply)
        )

    def text(self, name: str) -> str:
        """The elements of this name as code."""
        if name not in self.inlined:
            return name
        return self.kernel.expression(next(let.expr for let in self.lets if let.name == name))

    def body(self, fold: Fold) -> str:
        """What is folded, as code."""
        return self.text(fold.body.name) if isinstance(fold.body, Var) else self.kernel.expression(fold.body)

    def helper(self, function: str) -> None:
        """Note that the kernel calls a device function."""
        if function:
            self.kernel.helpers[function] = None

    def _folded(self, let: Let, fold: Fold) -> list[str]:
        """The fold of a row that is there as a whole."""
        if fold.monoid in EXTREMES:
            kind, x = EXTREMES[fold.monoid], self.body(fold)
            table = FOLDS[f"nan_{kind}"]
            self.helper(table.device)
            return [
                f"extreme = {table.reduced(f'tl.where(mask, {x}, {table.fill})', self.lanes.axis, self.lanes.keep)}",
                f"found = mask & (({x} == extreme) | ({x} != {x}))",
                f"{let.name} = tl.min(tl.where(found, columns, length), axis={self.lanes.axis}{self.lanes.keep})",
            ]
        table = FOLDS[fold.monoid]
        self.helper(table.device)
        x = self.body(fold)
        masked = x if fold.monoid == "sum" and self._is_0_beyond(fold) else f"tl.where(mask, {x}, {table.fill})"
        return [f"{let.name} = {table.reduced(masked, self.lanes.axis, self.lanes.keep)}"]

    def _is_0_beyond(self, fold: Fold) -> bool:
        """Whether elements past the end are 0: they are loaded as 0, and so are their squares and absolute values."""
        if not isinstance(fold.body, Var):
            return False
        lets = {let.name: let.expr for let in self.lets}
        body = lets[fold.body.name]
        if isinstance(body, Load):
            return True
        if not isinstance(body, Apply) or fold.body.name not in self.inlined:
            return False
        loaded = all(isinstance(a, Var) and isinstance(lets[a.name], Load) for a in body.arguments)
        return loaded and body.function in ("mul", "abs") and len(set(body.arguments)) == 1

    # Results

    @property
    def _in_order(self) -> bool:
        """Whether the result lies in memory in the order in which it is made."""
        made = self.walk.order if self.stored else (*self.walk.outer, *self.walk.inner)
        return [axis.name for axis in self.nest.spatial] == list(made)

    def store(self) -> str:
        """The line that stores the result."""
        flat, mask = ("offsets", "mask") if self.stored else (self.lanes.row, self.lanes.mask)
        if not self._in_order:
            axes, rows = self.nest.spatial, (*self.outer, *self.inner)
            after = axes[len(rows) :] if self.stored and axes[: len(rows)] == rows else None
            flat = offset(self.kernel, axes) if after is None else offset(self.kernel, after, self.lanes.row)
        return f"tl.store(out_ptr + {flat}, {self.nest.stored.name}{f', mask={mask}' if mask else ''})"

    # Launch

    @property
    def blocks(self) -> dict[str, str]:
        """The block sizes that the kernel is given."""
        across = {self.tile.across_name: str(self.tile.across)} if self.tile.across_name else {}
        return across | {"BLOCK": str(self.tile.block) if self.tile.block else "triton.next_power_of_2(length)"}
