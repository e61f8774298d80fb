"""Prints a pointwise Program that reads a tensor in one layout and writes it in the other: channels-last and contiguous.

A tile of positions by channels is loaded and stored with neighbours of the respective layout side by side; Triton
exchanges it between the threads in shared memory.
"""

from dataclasses import dataclass

from kernelwright.micro.rewrite import triton_printer as tp
from kernelwright.micro.rewrite.naming import in_words
from kernelwright.micro.rewrite.program import Operand, Program
from kernelwright.micro.rewrite.relies import check, limits, relied_on
from kernelwright.micro.rewrite.tensor_layout import CHANNELS_LAST


@dataclass(frozen=True)
class Tile:
    positions: int
    channels: int
    warps: int


# 128 bytes a row of the tile, or more, on either side; which shape wins, a measurement says.
_TILES = (Tile(64, 64, 4), Tile(128, 32, 4), Tile(32, 64, 4), Tile(128, 64, 8))


def tiles(program: Program) -> tuple[Tile, ...]:
    """The tiles worth measuring, best guess first: none is wider than the channels need."""
    needed = max(1 << (program.domain.shape[1] - 1).bit_length(), 8)
    fitting = (Tile(t.positions * max(t.channels // needed, 1), min(t.channels, needed), t.warps) for t in _TILES)
    return tuple(dict.fromkeys(fitting))


def print_transposing(
    program: Program, main_dtype: str, names: tuple[str, str], tile: Tile, existing: str
) -> tp.Printed:
    """Kernel, launcher and call; `names` are those of the kernel and of the launcher."""
    kernel, launcher = names
    main = program.main.name
    constants = tp.Constants()
    channels = constants.name(f"{main}.shape[1]", "CHANNELS")
    spatial = constants.name(f"{main}.shape[2:].numel()", "SPATIAL")
    start = "tl.program_id(0).to(tl.int64)" if tp.is_wide(program) else "tl.program_id(0)"
    loads = [
        tp.load(program, o, index, f"channel < {channels}" if index == "channel" else "mask")
        for o, index in ((o, _index(program, o, constants)) for o in program.operands)
    ]
    body = [
        f"tiles = tl.cdiv({spatial}, POSITIONS)",
        f"item = {start} // tiles",
        f"position = {start} % tiles * POSITIONS + tl.arange(0, POSITIONS)[:, None]",
        "channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]",
        f"mask = (position < {spatial}) & (channel < {channels})",
        f"channels_last = (item * {spatial} + position) * {channels} + channel",
        f"contiguous = (item * {channels} + channel) * {spatial} + position",
        *loads,
        *(f"{line.name} = {line.expression}" for line in program.lines),
        f"tl.store(out_ptr + {program.result_layout}, {program.result}, mask=mask)",
    ]
    tensors = list(tp.pointers(program).values())
    parameters = [
        *(f"{t}_ptr" for t in tensors),
        "out_ptr",
        *program.scalars,
        *(f"{constant}: tl.constexpr" for constant in constants.names.values()),
        "POSITIONS: tl.constexpr",
        "BLOCK: tl.constexpr",
    ]
    way = "channels-last to contiguous" if program.domain.layout == CHANNELS_LAST else "contiguous to channels-last"
    doc = f"{in_words(program, 36)}, {way}."
    arguments = [
        *tensors,
        "out",
        *program.scalars,
        *(f"{constant}={expression}" for expression, constant in constants.names.items()),
        f"POSITIONS={tile.positions}",
        f"BLOCK={tile.channels}",
        f"num_warps={tile.warps}",
    ]
    launch = [
        *check(relied_on(program, launcher)),
        *tp.prepare_inputs(program),
        tp.allocate(program, main_dtype),
        f"tiles = triton.cdiv({main}.shape[2:].numel(), {tile.positions})",
        f"grid = ({main}.shape[0] * tiles, triton.cdiv({main}.shape[1], {tile.channels}))",
        tp.call_text(f"{kernel}[grid]", arguments, "", 4),
        "return out",
    ]
    doc_of_launcher = f"{in_words(program, 42)} in one pass, in fp32{limits(program.eager)}."
    function = tp.launcher_source(launcher, tp.launch_parameters(program), doc_of_launcher, launch)
    sources = [*tp.helper_sources(program, existing), tp.kernel_source(kernel, parameters, doc, body), function]
    summary = f"POSITIONS={tile.positions}, BLOCK={tile.channels}, num_warps={tile.warps}"
    return tp.Printed("\n\n\n".join(sources), launcher, summary)


def _index(program: Program, operand: Operand, constants: tp.Constants) -> str:
    """The operand's index in the tile: one for each channel, the place in either layout, or from the flat offset."""
    domain = program.domain
    if operand.terms is None:
        return domain.layout
    if operand.axis == 1:
        return "channel"
    if operand.shape == domain.shape:
        return "contiguous"
    return tp.index_text(program, operand, domain.layout, constants)
