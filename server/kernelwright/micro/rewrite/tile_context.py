"""How a tile of rows is loaded, masked, reduced and stored in printed code."""

from dataclasses import dataclass

from kernelwright.micro.rewrite import triton_printer as tp
from kernelwright.micro.rewrite.program import ELEMENT, ROW, Line, Operand, Program, Term
from kernelwright.micro.rewrite.tiles import Shape
from kernelwright.ops.folds import FOLDS


@dataclass(frozen=True)
class Tile:
    """How the printed code names places in a tile."""

    row: str  # the row's number, a name
    column: str  # the place in the row, a name
    row_mask: str
    axis: int
    keep: str  # the argument that keeps the reduced axis


TILES = {
    "row": Tile("row", "columns", "", 0, ""),
    "rows": Tile("rows", "columns", "rows < n_rows", 1, ", keep_dims=True"),
    "strip": Tile("rows", "columns", "positions < inner", 0, ", keep_dims=True"),
    "channels": Tile("rows", "columns", "positions < spatial", 1, ", keep_dims=True"),
}
# The place of an element of a channels-last tile in a contiguous tensor.
_CONTIGUOUS = {"strip": "rows * length + columns", "channels": "(item * length + columns) * spatial + positions"}


@dataclass
class Context:
    """What printing a body needs to know."""

    program: Program
    shape: Shape
    tile: Tile
    constants: tp.Constants
    span: str = "0, length"  # what a looped kernel walks over
    count: str = "length"  # how many elements that is

    def load(self, operand: Operand) -> str:
        """The line that loads an operand for the current tile."""
        if operand.level == ROW:
            text = tp.index_text(self.program, operand, self.tile.row, self.constants)
            return tp.load(self.program, operand, text, self.tile.row_mask, other=bool(self.tile.row_mask))
        text = self._element_index(operand)
        if text == self.tile.column:
            mask = "mask" if self.shape.kind == "row" else f"{self.tile.column} < length"
        elif text == "positions" or _only(text, self.tile.row):
            mask = self.tile.row_mask
        else:
            mask = "mask"
        return tp.load(self.program, operand, text, mask, other=bool(mask))

    def _element_index(self, operand: Operand) -> str:
        """Along the row or across rows where that is all it depends on, otherwise from the element's offset."""
        domain = self.program.domain
        if domain.memory is not None and operand.terms is not None and len(operand.terms) == 1:
            _, length, inner = domain.memory
            term = operand.terms[0]
            if domain.axes is not None and (term.inner, term.size, term.stride) == (inner, length, 1):
                return self.tile.column
            if self.shape.kind == "strip" and (term.inner, term.size, term.stride) == (1, inner, 1):
                return "positions"
            if domain.axes is not None and (term.inner, inner, term.stride) == (length, 1, 1):
                as_row = Operand(
                    operand.name, operand.value, ROW, operand.dtype,
                    (Term(1, term.size, 1, 0, term.outermost),), operand.dims, operand.shape,
                )  # fmt: skip
                return tp.index_text(self.program, as_row, self.tile.row, self.constants)
        if operand.terms and operand.shape == domain.shape and self.shape.kind in _CONTIGUOUS:
            return _CONTIGUOUS[self.shape.kind]
        return tp.index_text(self.program, operand, "offsets", self.constants)

    def reduce(self, line: Line) -> str:
        """The reduction of a whole tile, masked where masked elements would count."""
        return reduction_text(self.program, line, self.tile)

    def row_operands(self) -> list[Operand]:
        return [o for o in self.program.operands if o.level == ROW]

    def element_operands(self, names: set[str]) -> list[Operand]:
        return [o for o in self.program.operands if o.level == ELEMENT and o.name in names]

    def store(self) -> str:
        """The line that stores the result."""
        if self.program.result_level == ELEMENT:
            place = _CONTIGUOUS[self.shape.kind] if self.program.transposes else "offsets"
            return f"tl.store(out_ptr + {place}, {self.program.result}, mask=mask)"
        mask = f", mask={self.tile.row_mask}" if self.tile.row_mask else ""
        return f"tl.store(out_ptr + {self.tile.row}, {self.program.result}{mask})"


def _only(text: str, name: str) -> bool:
    return text == name or text.startswith((f"{name} %", f"({name} ", f"{name} //"))


def reduction_text(program: Program, line: Line, tile: Tile) -> str:
    fold = FOLDS[line.reduce]
    return fold.reduced(_masked(program, line, fold.fill), tile.axis, tile.keep)


def _masked(program: Program, line: Line, fill: str) -> str:
    """Elements past the end are loaded as 0, which a sum of plain products does not feel."""
    loaded = {o.name for o in program.operands if o.level == ELEMENT and o.terms != ()}
    if fill == "0.0" and line.expression in (
        *loaded,
        *(f"{n} * {n}" for n in loaded),
        *(f"tl.abs({n})" for n in loaded),
    ):
        return line.expression
    return f"tl.where(mask, {line.expression}, {fill})"


def tile_lines(shape: Shape, start: str = "") -> list[str]:
    """Offsets and mask of a tile; `start` is the loop variable of a looped kernel."""
    base = f"{start} + " if start else ""
    if shape.kind == "row":
        return [
            f"columns = {base}tl.arange(0, BLOCK)",
            "mask = columns < length",
            "offsets = row * length + columns",
        ]
    if shape.kind in ("rows", "channels"):
        return [
            f"columns = {base}tl.arange(0, BLOCK)[None, :]",
            f"mask = ({TILES[shape.kind].row_mask}) & (columns < length)",
            "offsets = rows * length + columns",
        ]
    return [
        f"columns = {base}tl.arange(0, BLOCK)[:, None]",
        "mask = (columns < length) & (positions < inner)",
        "offsets = (outer * length + columns) * inner + positions",
    ]
