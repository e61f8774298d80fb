"""Decisions of how a kernel is carried out, each a value: a schedule is a tuple of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tile:
    """ROWS by COLUMNS results of a matrix product a program."""

    rows: int
    columns: int


@dataclass(frozen=True)
class Block:
    """Neighbouring results a program."""

    elements: int


@dataclass(frozen=True)
class Rows:
    """Rows that a program folds or scans beside each other; one without it."""

    count: int


@dataclass(frozen=True)
class Loop:
    """Elements that are contracted, folded or scanned at a time; without it a program keeps a row as a whole."""

    step: int


@dataclass(frozen=True)
class Split:
    """Programs that share what is folded, each a part, which a second kernel joins."""

    parts: int


@dataclass(frozen=True)
class Group:
    """Rows of tiles that are made together, so that they find their operands in the cache."""

    rows: int


@dataclass(frozen=True)
class Stages:
    """Steps of a loop whose loads are under way at once: `num_stages`."""

    count: int


@dataclass(frozen=True)
class Warps:
    """Warps a program: `num_warps`."""

    count: int


@dataclass(frozen=True)
class Precision:
    """How the products of fp32 operands are made: the name of a row of `schedule.precisions`."""

    name: str


@dataclass(frozen=True)
class Backwards:
    """The last pass over a row begins at its end, which the pass before has left in the cache."""


@dataclass(frozen=True)
class Planes:
    """A block of results lies in one plane, of those axes that windows walk along.

    What hangs on the other axes alone, such as the weights of a channel, is read once a program instead of once a result.
    """


Opt = Tile | Block | Rows | Loop | Split | Group | Stages | Warps | Precision | Backwards | Planes
