"""Prints a Program with row reductions: a row (or a few, or a strip of columns) a program, whole or in a loop."""

from collections.abc import Mapping

from kernelwright.micro.rewrite import sizes
from kernelwright.micro.rewrite import triton_printer as tp
from kernelwright.micro.rewrite.looped import looped_body
from kernelwright.micro.rewrite.naming import in_words
from kernelwright.micro.rewrite.program import ROW, Line, Program
from kernelwright.micro.rewrite.relies import check, limits, relied_on
from kernelwright.micro.rewrite.tile_context import TILES, Context, Tile, reduction_text, tile_lines
from kernelwright.micro.rewrite.tiles import Shape
from kernelwright.nest.layouts import CHANNELS_LAST
from kernelwright.place.layout import call_text

_HOW = {
    "row": "one row a program",
    "rows": "ROWS rows a program",
    "strip": "STRIP columns a program",
    "channels": "the channels of ROWS positions a program",
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
        *check(relied_on(program, launcher, length=length, longest=shape.longest)),
        *tp.prepare_inputs(program),
        *_geometry(program, shape, length),
        tp.allocate(program, main_dtype),
        f"grid = ({_grid(program, shape)},)",
        call_text(f"{kernel}[grid]", arguments, "", 4),
        "return out",
    ]
    what = in_words(program, 33)
    function = tp.launcher_source(
        launcher,
        [*tp.launch_parameters(program), *numbers],
        f"{what} in one kernel, in fp32{limits(program.eager)}.",
        launch,
    )
    doc = f"{what}, {_HOW[shape.kind]}{', in steps of BLOCK' if shape.looped else ''}."
    sources = [*tp.helper_sources(program, existing), tp.kernel_source(kernel, parameters, doc, body), function]
    return tp.Printed("\n\n\n".join(sources), launcher, shape.described)


def _head(program: Program, shape: Shape) -> list[str]:
    wide = ".to(tl.int64)" if tp.is_wide(program) else ""
    if shape.kind == "row":
        return [f"row = tl.program_id(0){wide}"]
    if shape.kind == "rows":
        return [f"rows = tl.program_id(0){wide} * ROWS + tl.arange(0, ROWS)[:, None]"]
    if shape.kind == "channels":
        return [
            "tiles = tl.cdiv(spatial, ROWS)",
            f"item = tl.program_id(0){wide} // tiles",
            "positions = (tl.program_id(0) % tiles) * ROWS + tl.arange(0, ROWS)[:, None]",
            "rows = item * spatial + positions",
        ]
    return [
        "strips = tl.cdiv(inner, STRIP)",
        f"outer = tl.program_id(0){wide} // strips",
        "positions = (tl.program_id(0) % strips) * STRIP + tl.arange(0, STRIP)[None, :]",
        "rows = outer * inner + positions",
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
    sizes_of = {"row": ["length"], "rows": ["n_rows", "length"], "strip": ["length", "inner"]}
    return sizes_of.get(shape.kind, ["length", "spatial"])


def _blocks(shape: Shape) -> dict[str, str]:
    block = str(shape.block) if shape.block else "triton.next_power_of_2(length)"
    return ({shape.across_name: str(shape.across)} if shape.across_name else {}) | {"BLOCK": block}


def _grid(program: Program, shape: Shape) -> str:
    return {
        "row": "n_rows",
        "rows": f"triton.cdiv(n_rows, {shape.across})",
        "strip": f"outer * triton.cdiv(inner, {shape.across})",
        "channels": f"{program.main.name}.shape[0] * triton.cdiv(spatial, {shape.across})",
    }[shape.kind]


def _geometry(program: Program, shape: Shape, length: str) -> list[str]:
    main, domain = program.main.name, program.domain
    lengths = [f"length = {length}"]
    if shape.kind == "channels":
        return [*lengths, f"spatial = {main}.shape[2:].numel()"]
    if shape.kind == "strip" and domain.axes is not None:
        last = domain.layout == CHANNELS_LAST
        begin, end, any_rank = *domain.axes, program.any_rank
        rank = len(domain.shape)
        inner = f"{main}.shape[1]" if last else sizes.dims(main, domain.shape, end, rank, any_rank=any_rank)
        outer = f"{main}.shape[0]" if last else sizes.leading_dims(main, domain.shape, begin, any_rank=any_rank)
        return [*lengths, f"inner = {inner}", f"outer = {outer}"]
    return [*lengths, f"n_rows = {main}.numel() // length"]


def row_length(program: Program, groups: str) -> str:
    """The launcher's expression for the row length; `groups` is the number of groups of a group norm."""
    main, domain = program.main.name, program.domain
    if domain.axes is None:
        return f"{main}.shape[1:].numel() // {groups}"
    return sizes.dims(main, domain.shape, *domain.axes, any_rank=program.any_rank)
