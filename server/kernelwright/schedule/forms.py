"""Schedules: what an emitter is told of how a Nest is carried out, one class for each form of kernel."""

from dataclasses import dataclass
from enum import StrEnum

from kernelwright.schedule.limits import MOST_IN_A_BLOCK
from kernelwright.schedule.precisions import PRECISIONS


class Form(StrEnum):
    """The forms of kernels that a Nest becomes, in words."""

    PRODUCT = "matrix product"
    REDUCTION = "reduction"
    SCAN = "scan"
    ROWS = "kernel of rows"
    BLOCKS = "kernel of blocks of results"
    TILES = "kernel of tiles of results"


@dataclass(frozen=True)
class Product:
    """ROWS by COLUMNS results a program, in steps of DEPTH; GROUP rows of tiles together."""

    rows: int
    columns: int
    depth: int
    group: int
    warps: int
    stages: int
    precision: str

    @property
    def described(self) -> str:
        size = f"ROWS={self.rows}, COLUMNS={self.columns}, DEPTH={self.depth}"
        way = PRECISIONS[self.precision].described
        return f"{size}, {way}, num_warps={self.warps}, num_stages={self.stages}"


@dataclass(frozen=True)
class Blocks:
    """`size` neighbouring results a program; `planes`: of one plane, of those axes that windows walk along."""

    size: int
    warps: int
    planes: bool = False

    @property
    def described(self) -> str:
        return f"BLOCK={self.size}{' of a plane' if self.planes else ''}, num_warps={self.warps}"


@dataclass(frozen=True)
class Tiles:
    """ROWS by COLUMNS results a program; operands lie along the rows as the result does along the columns."""

    rows: int
    columns: int
    warps: int

    @property
    def described(self) -> str:
        return f"ROWS={self.rows}, COLUMNS={self.columns}, num_warps={self.warps}"


@dataclass(frozen=True)
class Scan:
    """BLOCK elements along the row, ACROSS rows or neighbouring columns beside each other.

    `block` 0 means the next power of two above the row's length; otherwise the row is walked in steps of `block`.
    `strip`: rows do not lie side by side in memory; `across` of them are walked together.
    """

    block: int
    warps: int
    across: int = 1
    strip: bool = False

    @property
    def longest(self) -> str:
        """The longest row that is scanned as a whole, as an expression; "" where it is walked in steps."""
        return longest_row(self.block, self.across)

    @property
    def described(self) -> str:
        block = f"the row, at most {self.longest}" if self.block == 0 else str(self.block)
        name = f", {self.across_name}={self.across}" if self.across_name else ""
        return f"BLOCK={block}{name}, num_warps={self.warps}"

    @property
    def across_name(self) -> str:
        return "STRIP" if self.strip else "ROWS" if self.across > 1 else ""


@dataclass(frozen=True)
class Reduction:
    """BLOCK elements a step, of ROWS rows beside each other; `strip`: neighbouring rows lie side by side in memory.

    `parts`: programs that share the rows, a power of two, whose parts a second kernel joins; 0: a program has whole rows.
    `applied`: the kernel that applies statistics to the elements, where there is one.
    """

    rows: int
    block: int
    warps: int
    parts: int = 0
    strip: bool = False
    applied: Blocks = Blocks(1024, 4)

    @property
    def described(self) -> str:
        rows = f"ROWS={self.rows}, " if self.rows > 1 else ""
        parts = f", PARTS={self.parts}" if self.parts else ""
        return f"{rows}BLOCK={self.block}, num_warps={self.warps}{parts}"


@dataclass(frozen=True)
class WalkedRows:
    """BLOCK elements of a row at a time, ACROSS rows or neighbouring columns beside each other.

    `block` 0 means the next power of two above the row's length: the row is kept as a whole. Otherwise it is walked in steps of
    `block`, with the loads of `stages` steps under way at once (0: as the compiler likes), the last time `backwards`.
    `strip`: rows do not lie side by side in memory; `across` of them are walked together. `parts`: programs that share a
    row, a power of two, whose parts a second kernel joins; 0: a program has whole rows.
    """

    block: int
    warps: int
    across: int = 1
    strip: bool = False
    stages: int = 0
    backwards: bool = False
    parts: int = 0

    @property
    def across_name(self) -> str:
        return "STRIP" if self.strip else "ROWS" if self.across > 1 else ""

    @property
    def longest(self) -> str:
        """The longest row that is kept as a whole, as an expression; "" where it is walked in steps."""
        return longest_row(self.block, self.across)

    @property
    def described(self) -> str:
        block = str(self.block) if self.block else f"the row, at most {self.longest}"
        across = f", {self.across_name}={self.across}" if self.across_name else ""
        parts = f", SPLITS={self.parts}" if self.parts else ""
        more = (f", {self.stages} stages" if self.stages else "") + (", backwards" if self.backwards else "")
        return f"BLOCK={block}{across}{parts}, num_warps={self.warps}{more}"


def longest_row(block: int, across: int) -> str:
    """The longest row that a block of a power of two holds beside others, as an expression; "" in steps of `block`."""
    return "" if block else f"2**{(MOST_IN_A_BLOCK // across).bit_length() - 1}"


Schedule = Product | Blocks | Tiles | Scan | Reduction | WalkedRows


@dataclass(frozen=True)
class Illegal:
    """Why some Opts do not fit a Nest or a device, in one sentence."""

    reason: str
