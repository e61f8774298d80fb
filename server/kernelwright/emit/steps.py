"""How a reduction is shared among programs: the steps of one program, and which are worth measuring."""

from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.nest.form import Axis, Load, Nest
from kernelwright.nest.levels import Levels, levels
from kernelwright.nest.stages import stages

PROGRAMS = 1024
"""That keep a large GPU busy."""


@dataclass(frozen=True)
class Steps:
    """BLOCK elements a step, of ROWS rows beside each other; `strip`: neighbouring rows lie side by side in memory.

    `parts`: programs that share the rows, a power of two, whose parts a second kernel joins; 0: a program has whole rows.
    """

    rows: int
    block: int
    warps: int
    parts: int = 0
    strip: bool = False

    @property
    def described(self) -> str:
        rows = f"ROWS={self.rows}, " if self.rows > 1 else ""
        parts = f", PARTS={self.parts}" if self.parts else ""
        return f"{rows}BLOCK={self.block}, num_warps={self.warps}{parts}"


_BLOCKS = ((2048, 8), (1024, 4), (4096, 8))  # (elements a step, num_warps)


def tiles(nest: Nest) -> tuple[Steps, ...]:
    """The tiles worth measuring for the captured sizes, best guess first."""
    both = stages(nest)
    nest = both.statistics if both else nest
    found = levels(nest)
    rows, length = (_captured(axes) for axes in (found.rows, found.columns))
    power = 1 << max(length - 1, 1).bit_length()
    neighbours = elements_are_neighbours(nest, found)
    blocks = tuple(dict.fromkeys((min(power, block), warps) for block, warps in _BLOCKS))
    if found.inner and neighbours:
        return tuple(_nested(rows, max(min(1024 // block, 64), 1), block, warps) for block, warps in blocks)
    if found.inner:
        return tuple(_nested(rows, 64, min(power, block), 4) for block in (32, 16, 64))
    if not neighbours:
        return _strips(rows, length, power)
    shared = tuple(
        Steps(1, block, warps, min(_power(PROGRAMS // rows), _power(-(-length // block))))
        for block, warps in blocks
        if rows < PROGRAMS // 4 and length > 8 * block
    )
    return shared or tuple(Steps(max(2048 // block, 1) if rows > 64 else 1, block, warps) for block, warps in blocks)


def _nested(rows: int, across: int, block: int, warps: int) -> Steps:
    return Steps(across, block, warps, _shares(-(-rows // across)))


def _strips(rows: int, length: int, power: int) -> tuple[Steps, ...]:
    """Neighbouring results side by side, in parts where there are few of them."""
    width = min(64, max(16, 1 << (rows - 1).bit_length()))
    programs = -(-rows // width)
    parts = _shares(min(max(PROGRAMS // programs, 1), max(length // 128, 1)))
    return tuple(Steps(width, min(power, block), 4, parts, strip=True) for block in (32, 64, 16))


def _shares(steps: int) -> int:
    """How many programs share so many steps; 0 where one takes them all."""
    return _power(min(PROGRAMS, steps)) if steps > 1 else 0


def _power(number: int) -> int:
    return 1 << (max(number, 1).bit_length() - 1)


def _captured(axes: Iterable[Axis]) -> int:
    number = 1
    for axis in axes:
        number *= axis.extent.captured
    return number


def elements_are_neighbours(nest: Nest, found: Levels) -> bool:
    """Whether the largest tensor's elements that are folded together lie side by side in memory."""
    loads = [let.expr for let in nest.lets if isinstance(let.expr, Load) and let.expr.index]
    largest = max(loads, key=lambda load: len(load.index), default=None)
    return largest is None or bool({axis.name for axis in found.columns} & set(largest.index[-1].names()))
