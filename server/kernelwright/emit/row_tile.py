"""A tile of rows: a row, several beside each other, or a strip of neighbouring columns, and the lines that say where it is."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class RowTile:
    """The lanes of a program that walks along `across` rows; `strip`: rows do not lie side by side in memory, but next to each
    other. `wide`: offsets need 64 bits."""

    across: int
    strip: bool
    wide: bool

    @property
    def many(self) -> bool:
        """Whether the tile has two dims."""
        return self.strip or self.across > 1

    @property
    def row(self) -> str:
        """The variable with the number of a row, or of several."""
        return "rows" if self.many else "row"

    @property
    def outer(self) -> str:
        """The variable for the place along the dims in front of the rows."""
        return "outer" if self.strip else self.row

    @property
    def mask(self) -> str:
        """The condition for what there is once for each row."""
        return "positions < inner" if self.strip else "rows < n_rows" if self.many else ""

    @property
    def keep(self) -> str:
        """The argument that keeps the folded axis of a tile."""
        return ", keep_dims=True" if self.many else ""

    @property
    def axis(self) -> int:
        """The axis of a tile along which a row lies."""
        return 1 if self.many and not self.strip else 0

    @property
    def shape(self) -> str:
        """The shape of a tile."""
        return "[BLOCK, STRIP]" if self.strip else "[ROWS, BLOCK]" if self.many else "[BLOCK]"

    def masked(self, *, along: bool, side: bool) -> str:
        """The condition for a load whose place depends on that `along` the rows, and on the row beside."""
        if along:
            return "mask" if side or not self.many else "columns < length"
        return self.mask if side else ""

    def depends(self, axes: Collection[str], outer: Collection[str], inner: Collection[str]) -> bool:
        """Whether lanes beside each other are at different places along some axes."""
        return bool(set(axes) & {*inner, *(() if self.strip else outer)})

    def program(self) -> list[str]:
        """The lines that say which rows a program has."""
        wide = ".to(tl.int64)" if self.wide else ""
        if self.strip:
            return [
                "strips = tl.cdiv(inner, STRIP)",
                f"outer = tl.program_id(0){wide} // strips",
                "positions = (tl.program_id(0) % strips) * STRIP + tl.arange(0, STRIP)[None, :]",
            ]
        if self.many:
            return [f"rows = tl.program_id(0){wide} * ROWS + tl.arange(0, ROWS)[:, None]"]
        return [f"row = tl.program_id(0){wide}"]

    def places(self, start: str, *, reverse: bool = False) -> list[str]:
        """Places, mask and offsets of a tile; `start` is the variable of the loop. `reverse`: from the last element down."""
        lanes = "[:, None]" if self.strip else "[None, :]" if self.many else ""
        columns = f"{start} + tl.arange(0, BLOCK){lanes}" if start else f"tl.arange(0, BLOCK){lanes}"
        valid = "columns < length"
        if reverse:
            columns, valid = f"length - 1 - ({columns})" if start else f"length - 1 - {columns}", "columns >= 0"
        mask, offsets = valid, "row * length + columns"
        if self.strip:
            mask, offsets = f"({valid}) & (positions < inner)", "(outer * length + columns) * inner + positions"
        elif self.many:
            mask, offsets = f"(rows < n_rows) & ({valid})", "rows * length + columns"
        return [f"columns = {columns}", f"mask = {mask}", f"offsets = {offsets}"]
