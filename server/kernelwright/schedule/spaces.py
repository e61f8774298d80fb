"""Which Opts are worth measuring, as a table: for each form of kernel and its sizes, the best guess first."""

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.nest.form import Nest
from kernelwright.schedule.applying import legal
from kernelwright.schedule.forms import Form
from kernelwright.schedule.limits import LEAST_OF_A_DOT
from kernelwright.schedule.sizes import Sizes, sizes
from kernelwright.values import Device
from kernelwright.values.opts import (
    Backwards,
    Block,
    Group,
    Loop,
    Opt,
    Planes,
    Precision,
    Rows,
    Split,
    Stages,
    Tile,
    Warps,
)

Opts = tuple[Opt, ...]

PROGRAMS = 1024
"""That keep a large GPU busy."""

_SHORT = 64
"""The longest inner axis of a product that takes its time for writing results."""

FEW = 256
"""The most rows or columns of a product for which its larger operand is split as it is read."""

_SIDE, _LEAST_SIDE = 64, 8
"""Results along the shorter side of a tile."""

_WHOLE_ROW = 8192
"""The longest row that one program scans at once without a measurement."""

_KEPT_ROW, _KEPT_AT_MOST, _KEPT_STRIP = 16384, 32768, 512
"""The longest row that is kept in registers without a measurement, and with one; and that of a strip."""

_SPLIT_ROWS = 1056
"""Rows from which on there are programs enough: eight for each of 132 multiprocessors."""


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
    group = 8
    if precision == "fp16x3" and found.length <= _SHORT:
        # All parts lie in one block, and in the cache anyway: results are written along rows.
        group, depth = 1, max(LEAST_OF_A_DOT, min(depth, found.power))
    return (Tile(rows, columns), Loop(depth), Group(group), Warps(warps), Stages(stages), Precision(precision))


def _window_product(found: Sizes, rows: int, *numbers: int | str) -> Opts:
    """No more rows than the convolution has channels."""
    rows = min(rows, max(LEAST_OF_A_DOT, 1 << (found.rows - 1).bit_length()))
    return _product(found, rows, *numbers)  # type: ignore[arg-type]


def _blocks(found: Sizes, elements: int, warps: int) -> Opts:
    return (Block(elements), Warps(warps))


def _in_planes(found: Sizes, elements: int, warps: int) -> Opts | None:
    """Blocks that a plane fills at least once; 0 elements: a block wherever it comes to lie."""
    if not elements:
        return _blocks(found, 512, warps)
    return (*_blocks(found, elements, warps), Planes()) if found.plane >= elements else None


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


def _kept_rows(found: Sizes, across: int, warps: int) -> Opts | None:
    """Rows that are kept as a whole, several beside each other where there are many short ones."""
    if across > 1 and (found.power > 4096 or found.rows < 4096):
        return None
    return _in_rows(across, Warps(warps))


def _kept_or_walked(found: Sizes, step: int, across: int, warps: int) -> Opts | None:
    """Rows that are kept as a whole, and, where they end in one number, those that are walked in steps."""
    if not step:
        return _kept_rows(found, across, warps)
    return None if found.applied else (Loop(step), Warps(warps))


def _narrow_strips(found: Sizes, width: int, elements: int, warps: int) -> Opts | None:
    """Narrow ones where there are few columns: there have to be enough of them for all multiprocessors."""
    if width != 16 and found.columns <= 16:
        return None
    return (Rows(width), Loop(elements // width), Warps(warps))


def _wide_strips(found: Sizes, step: int, warps: int, width: int) -> Opts:
    return (Rows(width), Loop(step), Warps(warps))


def _walked(found: Sizes, step: int, warps: int, stages: int, way: str) -> Opts | None:
    """Long rows in steps. Small ones keep several programs on a multiprocessor, wide ones a single program, whose row the
    cache then holds."""
    if not step:
        return (Warps(warps),) if found.length <= _KEPT_AT_MOST else None
    if (way == "applied") > found.applied or (way == "folded" and found.applied):
        return None
    more = (Stages(stages),) if stages else (Backwards(),) if way == "applied" else ()
    return (Loop(step), Warps(warps), *more)


def _split_rows(found: Sizes, step: int, warps: int, programs: int, stages: int) -> Opts:
    """Few long rows, each for several programs; without `programs` one for each."""
    if not programs:
        return (Loop(step), Warps(warps))
    parts = min(_power(max(programs // found.rows, 2)), 1 << (-(-found.length // step) - 1).bit_length())
    return (Loop(step), Warps(warps), Split(parts), *((Stages(stages),) if stages else ()))


def _is_split(found: Sizes) -> bool:
    """Whether rows are few and long enough to be split."""
    long = found.length > (_KEPT_ROW if found.rows < 128 else 4 * _KEPT_ROW)
    return found.joined and not found.apart and not found.turned and found.rows < _SPLIT_ROWS and long


def _in_rows(count: int, *opts: Opt) -> Opts:
    return (Rows(count), *opts) if count > 1 else opts


def _shared(steps: int) -> Opts:
    """How many programs share so many steps; none where one takes them all."""
    return (Split(_power(min(PROGRAMS, steps))),) if steps > 1 else ()


def _power(number: int) -> int:
    return 1 << (max(number, 1).bit_length() - 1)


def _half_filled(*, tall: bool) -> tuple[tuple[int | str, ...], ...]:
    """Tiles of which few channels fill half of the rows at least, or few positions half of the columns of `tall` ones."""
    return tuple(
        (long, 16, 32, warps, 3, way) if tall else (16, long, 32, warps, 3, way)
        for way in ("tf32", "tf32x3")
        for long, warps in ((128, 4), (256, 8))
    )


_PARTS = ((128, 128, 64, 8, 3, "fp16x3"), (128, 64, 64, 4, 3, "fp16x3"), (64, 64, 64, 4, 4, "fp16x3"))
_ROUNDED = ((128, 256, 64, 8, 3, "fp16"), (128, 128, 64, 8, 4, "fp16"), (64, 128, 64, 4, 4, "fp16"))
_SHORT_PARTS = ((64, 128, 64, 4, 2, "fp16x3"), (128, 64, 64, 4, 2, "fp16x3"), (64, 64, 64, 4, 2, "fp16x3"))
_ROUNDED_IN_LOOP = (
    (128, 128, 64, 8, 3, "fp16-in-loop"),
    (128, 64, 64, 4, 3, "fp16-in-loop"),
    (64, 128, 64, 4, 3, "fp16-in-loop"),
)
_IN_LOOP = ((128, 128, 64, 8, 3, "fp16x3-in-loop"), (64, 128, 64, 4, 3, "fp16x3-in-loop"))
_WINDOWS = (
    (64, 256, 32, 4, 4, "fp16"),
    (128, 256, 64, 8, 3, "fp16"),
    (128, 128, 64, 8, 3, "fp16"),
    (64, 128, 64, 4, 3, "fp16"),
    (32, 256, 64, 4, 3, "fp16"),
    (64, 128, 32, 4, 3, "fp16x3"),
    (128, 128, 64, 8, 3, "fp16x3"),
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
_KEPT = ((4096, 4), (2048, 4), (8192, 8), (4096, 8))  # (elements, num_warps)
_SPLITS = ((4096, 8, 1024, 0), (2048, 4, 2048, 0), (2048, 8, 1024, 0), (8192, 16, 1024, 0), (4096, 8, 1024, 3))
_WALKED = (
    (4096, 8, 0, ""),
    (2048, 8, 0, ""),
    (8192, 16, 0, ""),
    (4096, 8, 3, ""),
    (8192, 32, 0, "applied"),
    (4096, 16, 0, "applied"),
    (1024, 4, 0, "folded"),
    (0, 32, 0, ""),
)
_FOLDED = ((2048, 8), (1024, 4), (4096, 8))  # (elements a step, num_warps)

SPACES: tuple[Space, ...] = (
    Space(Form.PRODUCT, lambda s: s.windowed and s.columns >= _SIDE, _window_product, (*_WINDOWS, *_PRODUCTS)),
    # Convolutions of few channels or positions.
    Space(Form.PRODUCT, lambda s: s.rows < LEAST_OF_A_DOT, _product, _half_filled(tall=False)),
    Space(Form.PRODUCT, lambda s: s.columns < LEAST_OF_A_DOT, _product, _half_filled(tall=True)),
    # Of fp16 parts where the operands allow it; rounded where eager mode itself may do that, or the user accepts it.
    Space(Form.PRODUCT, lambda s: s.length <= _SHORT, _product, (*_ROUNDED, *_SHORT_PARTS, *_PRODUCTS)),
    Space(
        Form.PRODUCT, lambda s: min(s.rows, s.columns) <= FEW, _product,
        (*_ROUNDED_IN_LOOP, *_ROUNDED, *_IN_LOOP, *_PARTS, *_PRODUCTS),
    ),
    Space(Form.PRODUCT, lambda s: True, _product, (*_ROUNDED, *_PARTS, *_PRODUCTS)),
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
    Space(Form.ROWS, lambda s: s.turned, _whole_rows(1), _KEPT),
    Space(Form.ROWS, lambda s: s.apart and s.length <= _KEPT_STRIP, _whole_rows(16), _KEPT),
    Space(
        Form.ROWS, lambda s: s.apart and s.columns <= 512, _narrow_strips,
        tuple((width, *tile) for width in (32, 16, 64) for tile in _KEPT[::2]),
    ),
    Space(Form.ROWS, lambda s: s.apart, _wide_strips, ((32, 4, 128), (16, 4, 256), (64, 8, 128), (128, 8, 32))),
    Space(Form.ROWS, lambda s: _is_split(s) and s.rows < 128, _split_rows, _SPLITS),
    Space(Form.ROWS, _is_split, _split_rows, (*_SPLITS, (4096, 8, 0, 0), (2048, 8, 0, 0), (8192, 16, 0, 0))),
    Space(Form.ROWS, lambda s: s.length > _KEPT_ROW, _walked, _WALKED),
    Space(
        Form.ROWS, lambda s: s.power <= 512 and s.rows >= 1024, _whole_rows(1), ((2048, 4), (1024, 4), (4096, 8), (4096, 4))
    ),
    *(
        Space(
            Form.ROWS, lambda s, most=most: s.power <= most, _kept_or_walked,  # type: ignore[misc]
            ((0, 1, warps), (0, 1, 2 * warps), (0, 1, warps // 2), (0, 2, 4), (0, 4, 8), (2048, 1, 4)),
        )
        for most, warps in ((2048, 4), (8192, 8), (_KEPT_ROW, 16))
    ),
    # Eight elements a thread come close to the roof; fewer where each result takes a window.
    Space(Form.BLOCKS, lambda s: s.plain, _blocks, ((1024, 4), (2048, 8), (512, 4), (4096, 8))),
    Space(Form.BLOCKS, lambda s: s.plane >= 512, _in_planes, ((1024, 4), (512, 4), (2048, 4), (2048, 8), (0, 4))),
    Space(Form.BLOCKS, lambda s: True, _blocks, ((512, 4), (1024, 4), (256, 4), (1024, 8))),
    Space(Form.TILES, lambda s: s.windows, _window_tiles, ((2048, 4), (1024, 4), (4096, 8))),
    # 128 bytes a row of the tile, or more, on either side.
    Space(Form.TILES, lambda s: True, _tiles, ((64, 64, 4), (32, 128, 4), (64, 32, 4), (64, 128, 8))),
)  # fmt: skip
