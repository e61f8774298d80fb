"""Prints a Program with a pool in it: a program for a block of the pool's results, each of which walks over its tile."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.micro.rewrite import triton_printer as tp
from kernelwright.micro.rewrite.naming import in_words
from kernelwright.micro.rewrite.program import Operand, Pool, Program
from kernelwright.micro.rewrite.relies import check, limits, relied_on
from kernelwright.micro.rewrite.tensor_layout import CHANNELS_LAST
from kernelwright.place.layout import call_text

_SIZES = ("DEPTH", "HEIGHT", "WIDTH")
_CORNERS = ("front", "top", "left")
_STEPS = ("h", "i", "j")


@dataclass(frozen=True)
class Tile:
    """`positions` of `channels` where the result is stored in another layout than it is read, else `channels` 0."""

    positions: int
    channels: int
    warps: int

    @property
    def described(self) -> str:
        if not self.channels:
            return f"BLOCK={self.positions}, num_warps={self.warps}"
        return f"POSITIONS={self.positions}, BLOCK={self.channels}, num_warps={self.warps}"


def tiles(program: Program) -> tuple[Tile, ...]:
    """The tiles worth measuring, best guess first; small ones, as each result has several elements to read."""
    if not program.transposes:
        return Tile(512, 0, 4), Tile(1024, 0, 4), Tile(1024, 0, 8), Tile(256, 0, 4)
    channels = min(max(1 << (program.domain.shape[1] - 1).bit_length(), 8), 64)
    sizes = ((2048, 4), (1024, 4), (4096, 8))
    return tuple(Tile(size // channels, channels, warps) for size, warps in sizes)


def print_pooled(
    program: Program, pool: Pool, main_dtype: str, names: tuple[str, str], tile: Tile, existing: str
) -> tp.Printed:
    """Kernel, launcher and call; `names` are those of the kernel and of the launcher."""
    kernel, launcher = names
    main, sizes = program.main.name, _SIZES[-pool.rank :]
    outside, inside = _lines_before(program, pool)
    wide = ".to(tl.int64)" if tp.is_wide(program) else ""
    body = [
        *(_tile_lines(sizes, wide) if tile.channels else _block_lines(program, sizes, wide)),
        *_corner_lines(program, sizes),
        *(_load(o, program, tile) for o in program.operands if o is not program.main),
        *outside,
        *_walk_lines(program, pool, sizes, inside, tile),
        *(f"{line.name} = {line.expression}" for line in program.lines[pool.before :]),
        f"tl.store(out_ptr + results, {program.result}, mask=mask)",
    ]
    window = "window" if pool.expression else str(pool.window)
    constants = {
        "CHANNELS": f"{main}.shape[1]",
        **{name: f"{main}.shape[{d}]" for d, name in enumerate(sizes, 2)},
        **{f"OUT_{name}": f"out.shape[{d}]" for d, name in enumerate(sizes, 2)},
        "WINDOW": window,
    }
    words = set(re.findall(r"\w+", " ".join(body)))
    constants = {name: text for name, text in constants.items() if name in words}
    blocks = {"POSITIONS": tile.positions, "BLOCK": tile.channels} if tile.channels else {"BLOCK": tile.positions}
    tensors = list(tp.pointers(program).values())
    counted = [] if tile.channels else ["n_results"]
    parameters = [
        *(f"{t}_ptr" for t in tensors),
        "out_ptr",
        *counted,
        *program.scalars,
        *(f"{name}: tl.constexpr" for name in (*constants, *blocks)),
    ]
    arguments = [
        *tensors,
        "out",
        *counted,
        *program.scalars,
        *(f"{name}={text}" for name, text in constants.items()),
        *(f"{name}={size}" for name, size in blocks.items()),
        f"num_warps={tile.warps}",
    ]
    launch = [
        *check(relied_on(program, launcher)),
        *tp.prepare_inputs(program),
        f"shape = (*{main}.shape[:2], *(size // {window} for size in {main}.shape[2:]))",
        tp.allocate_shape(program, main_dtype, "shape"),
        *_grid_lines(main, tile),
        call_text(f"{kernel}[grid]", arguments, "", 4),
        "return out",
    ]
    function = tp.launcher_source(
        launcher,
        [*tp.launch_parameters(program), *(["window"] if pool.expression else [])],
        f"{in_words(program, 42)} in one pass, in fp32{limits(program.eager)}.",
        launch,
    )
    result = "contiguous result" if tile.channels else "result"
    doc = f"{in_words(program, 36)}, a tile for each {result}."
    sources = [*tp.helper_sources(program, existing), tp.kernel_source(kernel, parameters, doc, body), function]
    return tp.Printed("\n\n\n".join(sources), launcher, tile.described)


def _block_lines(program: Program, sizes: Sequence[str], wide: str) -> list[str]:
    """Which results a program makes where they are stored in the layout that is read."""
    spatial = " * ".join(f"OUT_{name}" for name in sizes)
    head = [f"results = tl.program_id(0){wide} * BLOCK + tl.arange(0, BLOCK)", "mask = results < n_results"]
    if program.domain.layout == CHANNELS_LAST:
        return [
            *head,
            "channel = results % CHANNELS",
            f"position = results // CHANNELS % ({spatial})",
            f"item = results // (CHANNELS * {spatial})",
        ]
    by_channel = any(o.axis == 1 for o in program.operands)
    return [
        *head,
        f"position = results % ({spatial})",
        f"plane = results // ({spatial})",
        *(["channel = plane % CHANNELS"] if by_channel else []),
    ]


def _tile_lines(sizes: Sequence[str], wide: str) -> list[str]:
    """Which results a program makes where a channels-last tensor is read and a contiguous one stored."""
    spatial = " * ".join(f"OUT_{name}" for name in sizes)
    return [
        f"tiles = tl.cdiv({spatial}, POSITIONS)",
        f"item = tl.program_id(0){wide} // tiles",
        "position = tl.program_id(0) % tiles * POSITIONS + tl.arange(0, POSITIONS)[:, None]",
        "channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]",
        f"mask = (position < {spatial}) & (channel < CHANNELS)",
        "plane = item * CHANNELS + channel",
        f"results = plane * ({spatial}) + position",
    ]


def _corner_lines(program: Program, sizes: Sequence[str]) -> list[str]:
    """The first element of each result's tile."""
    corners = _CORNERS[-len(sizes) :]
    lines = []
    for d, corner in enumerate(corners):
        inner = " * ".join(f"OUT_{name}" for name in sizes[d + 1 :])
        divided = "position" if not inner else f"position // ({inner})" if " " in inner else f"position // {inner}"
        lines.append(f"{corner} = {divided}{f' % OUT_{sizes[d]}' if d else ''} * WINDOW")
    last = program.domain.layout == CHANNELS_LAST
    place = "item" if last else "plane"
    for size, corner in zip(sizes, corners, strict=True):
        place = f"({place}) * {size} + {corner}" if " " in place else f"{place} * {size} + {corner}"
    if not last:
        return [*lines, f"corner = {place}"]
    return [*lines, f"place = {place}", "corner = place * CHANNELS + channel"]


def _load(operand: Operand, program: Program, tile: Tile) -> str:
    return tp.load(program, operand, "channel", "channel < CHANNELS" if tile.channels else "mask")


def _lines_before(program: Program, pool: Pool) -> tuple[list[str], list[str]]:
    """What is computed before the pool: once for all elements of a tile, and for each of them."""
    depend = {program.main.name}
    outside: list[str] = []
    inside: list[str] = []
    for line in program.lines[: pool.before]:
        each = bool(depend & set(line.uses))
        depend |= {line.name} if each else set()
        (inside if each else outside).append(f"{line.name} = {line.expression}")
    return outside, inside


def _walk_lines(program: Program, pool: Pool, sizes: Sequence[str], inside: Sequence[str], tile: Tile) -> list[str]:
    """The loops over the elements of a tile."""
    steps = _STEPS[-pool.rank :]
    place = steps[0]
    for size, step in zip(sizes[1:], steps[1:], strict=True):
        place = f"({place}) * {size} + {step}" if " " in place else f"{place} * {size} + {step}"
    place = f"({place}) * CHANNELS" if program.domain.layout == CHANNELS_LAST else place
    shape = "[POSITIONS, BLOCK]" if tile.channels else "[BLOCK]"
    name, element = pool.name, pool.element
    pad = "    " * pool.rank
    loops = [f"{'    ' * d}for {step} in tl.static_range(WINDOW):" for d, step in enumerate(steps)]
    loops += [f"{pad}{line}" for line in (tp.load(program, program.main, f"corner + {place}", "mask"), *inside)]
    if pool.kind == "max":
        start = f'{name} = tl.full({shape}, float("-inf"), dtype=tl.float32)'
        return [start, *loops, f"{pad}{name} = tl.maximum({name}, {element}, propagate_nan=tl.PropagateNan.ALL)"]
    count = " * ".join(["WINDOW"] * pool.rank)
    start = f"{name} = tl.zeros({shape}, dtype=tl.float32)"
    return [start, *loops, f"{pad}{name} += {element}", f"{name} = {name} / ({count})"]


def _grid_lines(main: str, tile: Tile) -> list[str]:
    if not tile.channels:
        return ["n_results = out.numel()", f"grid = (triton.cdiv(n_results, {tile.positions}),)"]
    return [
        f"tiles = triton.cdiv(out.shape[2:].numel(), {tile.positions})",
        f"grid = ({main}.shape[0] * tiles, triton.cdiv({main}.shape[1], {tile.channels}))",
    ]
