"""Which Opts are worth measuring, as a table: for each form of kernel and its sizes, the best guess first."""

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.nest.form import Nest
from kernelwright.schedule.applying import legal
from kernelwright.schedule.forms import Form
from kernelwright.schedule.limits import LEAST_OF_A_DOT
from kernelwright.schedule.sizes import Sizes, sizes
from kernelwright.values import Device
from kernelwright.values.opts import Block, Group, Loop, Opt, Precision, Rows, Split, Stages, Tile, Warps

Opts = tuple[Opt, ...]

PROGRAMS = 1024
"""That keep a large GPU busy."""

_SIDE, _LEAST_SIDE = 64, 8
"""Results along the shorter side of a tile."""

_WHOLE_ROW = 8192
"""The longest row that one program scans at once without a measurement."""


@dataclass(frozen=True)
class Space:
    """One row of the table: where `when` holds, `opts` makes a choice of each of `numbers`, or none where one does not fit."""

    form: Form
    when: Callable[[Sizes], bool]
    opts: Callable[..., Opts | None]
    numbers: tuple[tuple[int | str, ...], ...]

    def choices(self, found: Sizes) -> tuple[Opts, ...]:
        made = (self.opts(found, *numbers) for numbers in self.numbers)
        return tuple(opts for opts in made if opts is not None)


def space(nest: Nest, device: Device) -> tuple[Opts, ...]:
    """The choices of the first row that has some, those left out that do not fit."""
    found = sizes(nest)
    rows = (row.choices(found) for row in SPACES if row.form is found.form and row.when(found))
    return legal(nest, next((choices for choices in rows if choices), ()), device)


def _product(found: Sizes, rows: int, columns: int, depth: int, warps: int, stages: int, precision: str) -> Opts:
    return (Tile(rows, columns), Loop(depth), Group(8), Warps(warps), Stages(stages), Precision(precision))


def _blocks(found: Sizes, elements: int, warps: int) -> Opts:
    return (Block(elements), Warps(warps))


def _tiles(found: Sizes, short: int, long: int, warps: int) -> Opts:
    """`short` results along the side with fewer of them, no more than it has, and the more along the other."""
    least, most = sorted((found.rows, found.columns))
    side = min(short, max(_LEAST_SIDE, 1 << (least - 1).bit_length()))
    long = min(long * (short // side), max(_LEAST_SIDE, 1 << (most - 1).bit_length()))
    return (Tile(side, long) if found.rows == least else Tile(long, side), Warps(warps))


def _window_tiles(found: Sizes, elements: int, warps: int) -> Opts:
    """Small tiles, as each result has several elements to read."""
    return _tiles(found, _SIDE, elements // _SIDE, warps)


def _whole_rows(least: int) -> Callable[[Sizes, int, int], Opts]:
    """Rows that are scanned as a whole, `least` or more beside each other."""
    return lambda found, elements, warps: _in_rows(max(elements // found.power, least), Warps(warps))


def _strips(found: Sizes, step: int, warps: int) -> Opts:
    return _in_rows(min(64, 1 << (found.columns - 1).bit_length()), Loop(step), Warps(warps))


def _row(found: Sizes, step: int, warps: int) -> Opts:
    return (Loop(step), Warps(warps)) if step else (Warps(warps),)


def _nested_neighbours(found: Sizes, elements: int, warps: int) -> Opts:
    step = min(found.power, elements)
    return _nested(found, max(min(1024 // step, 64), 1), step, warps)


def _nested_strips(found: Sizes, step: int, warps: int) -> Opts:
    return _nested(found, 64, min(found.power, step), warps)


def _nested(found: Sizes, across: int, step: int, warps: int) -> Opts:
    return _in_rows(across, Loop(step), Warps(warps), *_shared(-(-found.rows // across)))


def _folded_strips(found: Sizes, step: int, warps: int) -> Opts:
    """Neighbouring results side by side, in parts where there are few of them."""
    width = min(64, max(16, 1 << (found.rows - 1).bit_length()))
    programs = -(-found.rows // width)
    parts = min(max(PROGRAMS // programs, 1), max(found.length // 128, 1))
    return _in_rows(width, Loop(min(found.power, step)), Warps(warps), *_shared(parts))


def _in_parts(found: Sizes, elements: int, warps: int) -> Opts | None:
    """Few long rows: several programs a row."""
    step = min(found.power, elements)
    if found.rows >= PROGRAMS // 4 or found.length <= 8 * step:
        return None
    return (Loop(step), Warps(warps), Split(min(_power(PROGRAMS // found.rows), _power(-(-found.length // step)))))


def _folded_again(found: Sizes, elements: int, warps: int) -> Opts:
    """Rows that read the same beside each other, in parts where there are few of them."""
    across = min(_power(2 * found.again - 1), 16)
    step = min(found.power, elements // across)
    programs = -(-found.rows // across)
    parts = min(max(PROGRAMS // programs, 1), max(found.length // (4 * step), 1))
    return _in_rows(across, Loop(step), Warps(warps), *_shared(parts))


def _folded_rows(found: Sizes, elements: int, warps: int) -> Opts:
    step = min(found.power, elements)
    return _in_rows(max(2048 // step, 1) if found.rows > 64 else 1, Loop(step), Warps(warps))


def _in_rows(count: int, *opts: Opt) -> Opts:
    return (Rows(count), *opts) if count > 1 else opts


def _shared(steps: int) -> Opts:
    """How many programs share so many steps; none where one takes them all."""
    return (Split(_power(min(PROGRAMS, steps))),) if steps > 1 else ()


def _power(number: int) -> int:
    return 1 << (max(number, 1).bit_length() - 1)


def _parts_of(depth: int) -> tuple[tuple[int | str, ...], ...]:
    """Tiles of fp16 parts."""
    return (
        (128, 128, depth, 8, 3, "fp16x3"),
        (128, 64, depth, 4, 3, "fp16x3"),
        (64, 64, depth, 4, 4, "fp16x3"),
    )


def _half_filled(*, tall: bool) -> tuple[tuple[int | str, ...], ...]:
    """Tiles of which few channels fill half of the rows at least, or few positions half of the columns of `tall` ones."""
    return tuple(
        (long, 16, 32, warps, 3, way) if tall else (16, long, 32, warps, 3, way)
        for way in ("tf32", "tf32x3")
        for long, warps in ((128, 4), (256, 8))
    )


_PRODUCTS = (
    (64, 128, 32, 4, 3, "tf32"),
    (128, 128, 32, 8, 3, "tf32"),
    (64, 64, 32, 4, 4, "tf32"),
    (128, 128, 32, 8, 3, "tf32x3"),
    (64, 64, 32, 4, 4, "tf32x3"),
    (128, 64, 32, 4, 3, "bf16x6"),
)
_STEPS = ((2048, 8), (4096, 8), (1024, 4), (8192, 16))  # of a scan
_FOLDED = ((2048, 8), (1024, 4), (4096, 8))  # (elements a step, num_warps)

SPACES: tuple[Space, ...] = (
    # Convolutions of few channels or positions.
    Space(Form.PRODUCT, lambda s: s.rows < LEAST_OF_A_DOT, _product, _half_filled(tall=False)),
    Space(Form.PRODUCT, lambda s: s.columns < LEAST_OF_A_DOT, _product, _half_filled(tall=True)),
    # Of fp16 parts where the operands allow it, in steps of half the depth where that is the whole inner axis; of TF32 where
    # eager mode itself may round to that.
    Space(Form.PRODUCT, lambda s: s.length <= 32, _product, (*_parts_of(32), *_PRODUCTS)),
    Space(Form.PRODUCT, lambda s: True, _product, (*_parts_of(64), *_PRODUCTS)),
    Space(Form.REDUCTION, lambda s: s.nested and s.apart, _nested_strips, ((32, 4), (16, 4), (64, 4))),
    Space(Form.REDUCTION, lambda s: s.nested, _nested_neighbours, _FOLDED),
    Space(Form.REDUCTION, lambda s: s.strip, _folded_strips, ((32, 4), (64, 4), (16, 4))),
    Space(Form.REDUCTION, lambda s: s.again > 1, _folded_again, _FOLDED),
    Space(Form.REDUCTION, lambda s: True, _in_parts, _FOLDED),
    Space(Form.REDUCTION, lambda s: True, _folded_rows, _FOLDED),
    Space(Form.SCAN, lambda s: s.strip and s.power <= 64, _whole_rows(16), ((2048, 4), (4096, 8))),
    Space(Form.SCAN, lambda s: s.strip, _strips, ((32, 4), (64, 4), (128, 4))),
    Space(Form.SCAN, lambda s: s.power <= 512 and s.rows >= 1024, _whole_rows(2), ((2048, 4), (1024, 4), (4096, 8))),
    Space(Form.SCAN, lambda s: s.length > _WHOLE_ROW, _row, _STEPS),
    Space(Form.SCAN, lambda s: s.power <= 2048, _row, ((0, 4), (0, 8), *_STEPS[:2])),
    Space(Form.SCAN, lambda s: True, _row, ((0, 8), (0, 16), *_STEPS[:2])),
    # Eight elements a thread come close to the roof; fewer where each result takes a window.
    Space(Form.BLOCKS, lambda s: s.plain, _blocks, ((1024, 4), (2048, 8), (512, 4), (4096, 8))),
    Space(Form.BLOCKS, lambda s: True, _blocks, ((512, 4), (1024, 4), (256, 4), (1024, 8))),
    Space(Form.TILES, lambda s: s.windows, _window_tiles, ((2048, 4), (1024, 4), (4096, 8))),
    # 128 bytes a row of the tile, or more, on either side.
    Space(Form.TILES, lambda s: True, _tiles, ((64, 64, 4), (32, 128, 4), (64, 32, 4), (64, 128, 8))),
)  # fmt: skip
