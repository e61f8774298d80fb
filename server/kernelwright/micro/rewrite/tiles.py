"""The tile of one program, and which tiles are worth measuring for the captured sizes."""

from dataclasses import dataclass

from kernelwright.micro.rewrite.program import ELEMENT, Program
from kernelwright.schedule.limits import MOST_IN_A_BLOCK

WHOLE_ROW = 16384  # the longest row that is kept in registers at once without a measurement
WHOLE_ROW_AT_MOST = 32768  # that a measurement may prefer
WHOLE_STRIP = 512  # the longest row that is kept when its elements are not neighbours
MOST_CHANNELS = 4096  # of channels-last positions: more do not fit on the chip beside enough neighbouring positions


@dataclass(frozen=True)
class Shape:
    """The tile of one program. `kind`: "row" [BLOCK], "rows" [ROWS, BLOCK] or "strip" [BLOCK, STRIP].

    "channels" is [ROWS, BLOCK] too: neighbouring positions of one item, each with its channels, channels-last.
    `block` 0 means the next power of two above the row's length; `looped`: the row is walked in steps of `block`, with
    the loads of `stages` steps under way at once (0: as the compiler likes), the last pass `backwards`.
    """

    kind: str
    block: int
    warps: int
    across: int = 1  # ROWS or STRIP
    looped: bool = False
    stages: int = 0
    backwards: bool = False

    @property
    def across_name(self) -> str:
        return {"rows": "ROWS", "channels": "ROWS", "strip": "STRIP"}.get(self.kind, "")

    @property
    def longest(self) -> str:
        """The longest row that the tile takes, as an expression; "" where the row is walked in steps."""
        return "" if self.block else f"2**{(MOST_IN_A_BLOCK // self.across).bit_length() - 1}"

    @property
    def described(self) -> str:
        block = f"the row, at most {self.longest}" if self.block == 0 else str(self.block)
        across = f", {self.across_name}={self.across}" if self.across_name else ""
        more = (f", {self.stages} stages" if self.stages else "") + (", backwards" if self.backwards else "")
        return f"BLOCK={block}{across}, num_warps={self.warps}{more}"


def shapes(program: Program) -> tuple[Shape, ...]:
    """The tiles worth measuring for the captured sizes, best guess first."""
    assert program.domain.memory is not None
    outer, length, inner = program.domain.memory
    applies = program.result_level == ELEMENT
    power = 1 << max(length - 1, 1).bit_length()
    if program.domain.over_channels:
        return tuple(Shape("channels", 0, warps, max(size // power, 1)) for size, warps in _TILES)
    if inner > 1:
        return _long_strips(inner) if length > WHOLE_STRIP else _strips(power)
    if length > WHOLE_ROW:
        whole = (Shape("row", 0, 32),) if length <= WHOLE_ROW_AT_MOST else ()
        return (*_long_rows(applies), *whole)
    if power <= 512 and outer >= 1024:
        return _short_rows(power)
    guess = 4 if power <= 2048 else 8 if power <= 8192 else 16
    rows: tuple[Shape, ...] = (Shape("row", 0, guess), Shape("row", 0, guess * 2), Shape("row", 0, guess // 2))
    if power <= 4096 and outer >= 4096:
        rows += (Shape("rows", 0, 4, 2), Shape("rows", 0, 8, 4))
    return rows if applies else (*rows, Shape("row", 2048, 4, looped=True))


def _long_rows(applies: bool) -> tuple[Shape, ...]:
    """Small steps keep several programs on a multiprocessor, wide ones a single program, whose row the cache then holds."""
    steps = (
        Shape("row", 4096, 8, looped=True),
        Shape("row", 2048, 8, looped=True),
        Shape("row", 8192, 16, looped=True),
        Shape("row", 4096, 8, looped=True, stages=3),
    )
    if not applies:
        return (*steps, Shape("row", 1024, 4, looped=True))
    return (
        *steps,
        Shape("row", 8192, 32, looped=True, backwards=True),
        Shape("row", 4096, 16, looped=True, backwards=True),
    )


def _short_rows(power: int) -> tuple[Shape, ...]:
    tiles = ((2048, 4), (1024, 4), (4096, 8), (4096, 4))
    return tuple(Shape("rows", 0, warps, max(size // power, 1)) for size, warps in tiles)


_TILES = ((4096, 4), (2048, 4), (8192, 8), (4096, 8))  # (elements, num_warps)


def _strips(power: int) -> tuple[Shape, ...]:
    return tuple(Shape("strip", 0, warps, max(size // power, 16)) for size, warps in _TILES)


def _long_strips(inner: int) -> tuple[Shape, ...]:
    """Narrow ones where there are few columns: there have to be enough of them for all multiprocessors."""
    if inner <= 512:
        widths = (32, 16, 64) if inner > 16 else (16,)
        return tuple(Shape("strip", size // w, warps, w, looped=True) for w in widths for size, warps in _TILES[::2])
    return (
        Shape("strip", 32, 4, 128, looped=True),
        Shape("strip", 16, 4, 256, looped=True),
        Shape("strip", 64, 8, 128, looped=True),
        Shape("strip", 128, 8, 32, looped=True),
    )
