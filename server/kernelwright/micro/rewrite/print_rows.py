"""Prints a Program with row reductions: a row (or a few, or a strip of columns) a program, whole or in a loop."""

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite import sizes
from kernelwright.micro.rewrite import triton_printer as tp
from kernelwright.micro.rewrite.layout import call_text
from kernelwright.micro.rewrite.looped import looped_body
from kernelwright.micro.rewrite.naming import in_words
from kernelwright.micro.rewrite.program import ELEMENT, ROW, Line, Operand, Program, Term
from kernelwright.micro.rewrite.tiles import Shape


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
}


def print_rows(
    program: Program,
    main_dtype: str,
    names: tuple[str, str],
    shape: Shape,
    length: str,
    numbers: Mapping[str, str],
    existing: str,
) -> tp.Printed:
    """Kernel, launcher and call.

    `length` is the launcher's expression for the row length, `numbers` the further parameters that it is made of.
    """
    kernel, launcher = names
    constants = tp.Constants()
    tile = TILES[shape.kind]
    body = [*_head(program, shape)]
    if shape.looped:
        body += looped_body(Context(program, shape, tile, constants))
    else:
        body += _whole_body(Context(program, shape, tile, constants))
    tensors = list(tp.pointers(program).values())
    sizes_needed = _sizes(shape)
    parameters = [
        *(f"{t}_ptr" for t in tensors),
        "out_ptr",
        *sizes_needed,
        *program.scalars,
        *(f"{name}: tl.constexpr" for name in constants.names.values()),
        *(f"{name}: tl.constexpr" for name in _blocks(shape)),
    ]
    arguments = [
        *tensors,
        "out",
        *sizes_needed,
        *program.scalars,
        *(f"{name}={expression}" for expression, name in constants.names.items()),
        *(f"{name}={value}" for name, value in _blocks(shape).items()),
        f"num_warps={shape.warps}",
    ]
    launch = [
        *tp.prepare_inputs(program),
        *_geometry(program, shape, length),
        tp.allocate(program, main_dtype),
        f"grid = ({_grid(shape)},)",
        call_text(f"{kernel}[grid]", arguments, "", 4),
        "return out",
    ]
    what = in_words(program, 33)
    function = tp.launcher_source(
        launcher,
        [*tp.launch_parameters(program), *numbers],
        f"{what} in one kernel, in fp32; forward only.",
        launch,
    )
    how = {"row": "one row a program", "rows": "ROWS rows a program", "strip": "STRIP columns a program"}
    doc = f"{what}, {how[shape.kind]}{', in steps of BLOCK' if shape.looped else ''}."
    sources = [*tp.helper_sources(program, existing), tp.kernel_source(kernel, parameters, doc, body), function]
    return tp.Printed("\n\n\n".join(sources), launcher, shape.described)


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
        elif _only(text, self.tile.row):
            mask = self.tile.row_mask
        else:
            mask = "mask"
        return tp.load(self.program, operand, text, mask, other=bool(mask))

    def _element_index(self, operand: Operand) -> str:
        """Along the row or across rows where that is all it depends on, otherwise from the element's offset."""
        domain = self.program.domain
        if operand.terms is not None and len(operand.terms) == 1 and domain.axes is not None:
            term = operand.terms[0]
            if term.inner == domain.inner and term.size == domain.length and term.stride == 1:
                return self.tile.column
            if term.inner == domain.inner * domain.length and term.stride == 1 and domain.inner == 1:
                as_row = Operand(
                    operand.name, operand.value, ROW, operand.dtype,
                    (Term(1, term.size, 1, 0, term.outermost),), operand.dims, operand.shape,
                )  # fmt: skip
                return tp.index_text(self.program, as_row, self.tile.row, self.constants)
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
            return f"tl.store(out_ptr + offsets, {self.program.result}, mask=mask)"
        mask = f", mask={self.tile.row_mask}" if self.tile.row_mask else ""
        return f"tl.store(out_ptr + {self.tile.row}, {self.program.result}{mask})"


def _only(text: str, name: str) -> bool:
    return text == name or text.startswith((f"{name} %", f"({name} ", f"{name} //"))


def reduction_text(program: Program, line: Line, tile: Tile) -> str:
    axis, keep = tile.axis, tile.keep
    if line.reduce == "sum":
        return f"tl.sum({_masked(program, line, '0.0')}, axis={axis}{keep})"
    if line.reduce in ("max", "min"):
        fill = 'float("-inf")' if line.reduce == "max" else 'float("inf")'
        return f"tl.{line.reduce}({_masked(program, line, fill)}, axis={axis}{keep})"
    if line.reduce in ("nan_max", "nan_min"):
        fill = 'float("-inf")' if line.reduce == "nan_max" else 'float("inf")'
        return f"tl.reduce({_masked(program, line, fill)}, {axis}, {line.reduce}{keep})"
    raise ValueError(f"no reduction named {line.reduce}")


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


def _head(program: Program, shape: Shape) -> list[str]:
    wide = ".to(tl.int64)" if tp.is_wide(program) else ""
    if shape.kind == "row":
        return [f"row = tl.program_id(0){wide}"]
    if shape.kind == "rows":
        return [f"rows = tl.program_id(0){wide} * ROWS + tl.arange(0, ROWS)[:, None]"]
    return [
        "strips = tl.cdiv(inner, STRIP)",
        f"outer = tl.program_id(0){wide} // strips",
        "positions = (tl.program_id(0) % strips) * STRIP + tl.arange(0, STRIP)[None, :]",
        "rows = outer * inner + positions",
    ]


def tile_lines(shape: Shape, start: str = "") -> list[str]:
    """Offsets and mask of a tile; `start` is the loop variable of a looped kernel."""
    base = f"{start} + " if start else ""
    if shape.kind == "row":
        return [
            f"columns = {base}tl.arange(0, BLOCK)",
            "mask = columns < length",
            "offsets = row * length + columns",
        ]
    if shape.kind == "rows":
        return [
            f"columns = {base}tl.arange(0, BLOCK)[None, :]",
            "mask = (rows < n_rows) & (columns < length)",
            "offsets = rows * length + columns",
        ]
    return [
        f"columns = {base}tl.arange(0, BLOCK)[:, None]",
        "mask = (columns < length) & (positions < inner)",
        "offsets = (outer * length + columns) * inner + positions",
    ]


def _whole_body(context: Context) -> list[str]:
    program = context.program
    body = [*tile_lines(context.shape), *(context.load(o) for o in program.operands)]
    for line in program.lines:
        if line.reduce.startswith("arg"):
            body += _arg_lines(program, line, context.tile)
        elif line.reduce:
            body.append(f"{line.name} = {context.reduce(line)}")
        else:
            body.append(f"{line.name} = {line.expression}")
    return [*body, context.store()]


def _arg_lines(program: Program, line: Line, tile: Tile) -> list[str]:
    """The first place of the extreme, or of a NaN, as torch has it."""
    kind = line.reduce.removeprefix("arg")
    x = line.expression
    extreme = reduction_text(program, Line("", x, ROW, line.uses, f"nan_{kind}"), tile)
    return [
        f"extreme = {extreme}",
        f"found = mask & (({x} == extreme) | ({x} != {x}))",
        f"{line.name} = tl.min(tl.where(found, columns, length), axis={tile.axis}{tile.keep})",
    ]


def _sizes(shape: Shape) -> list[str]:
    return {"row": ["length"], "rows": ["n_rows", "length"], "strip": ["length", "inner"]}[shape.kind]


def _blocks(shape: Shape) -> dict[str, str]:
    block = str(shape.block) if shape.block else "triton.next_power_of_2(length)"
    across = {"rows": "ROWS", "strip": "STRIP"}.get(shape.kind)
    return ({across: str(shape.across)} if across else {}) | {"BLOCK": block}


def _grid(shape: Shape) -> str:
    return {
        "row": "n_rows",
        "rows": f"triton.cdiv(n_rows, {shape.across})",
        "strip": f"outer * triton.cdiv(inner, {shape.across})",
    }[shape.kind]


def _geometry(program: Program, shape: Shape, length: str) -> list[str]:
    main, domain = program.main.name, program.domain
    wide = [] if tp.is_wide(program) else [f'assert {main}.numel() < 2**31, "offsets are 32-bit"']
    if shape.kind == "strip" and domain.axes is not None:
        inner = sizes.dims(main, domain.shape, domain.axes[1], len(domain.shape))
        return [*wide, f"length = {length}", f"inner = {inner}", f"outer = {main}.numel() // (length * inner)"]
    return [*wide, f"length = {length}", f"n_rows = {main}.numel() // length"]


def row_length(program: Program, groups: str) -> str:
    """The launcher's expression for the row length; `groups` is the number of groups of a group norm."""
    main, domain = program.main.name, program.domain
    if domain.axes is None:
        return f"{main}[0].numel() // {groups}"
    return sizes.dims(main, domain.shape, *domain.axes)
