"""What a strategy wants done at one place: a value, which a coder carries out."""

from dataclasses import dataclass
from enum import StrEnum

from kernelwright.micro.rewrite.algebra import Match
from kernelwright.micro.rewrite.helpers import Helper
from kernelwright.values import Edits


class Around(StrEnum):
    """What the region of a kernel is grown around."""

    POINTWISE = "pointwise"
    ROWS = "rows"  # a reduction or normalisation
    NEST = "nest"  # what has a Nest: a scan, a pool, a matrix product


@dataclass(frozen=True)
class Text:
    """Edits that the strategy knows itself: several variants where only a measurement can choose, best guess first."""

    variants: tuple[Edits, ...]


@dataclass(frozen=True)
class Rewrite:
    """Put other torch code in the place of some nodes of the op graph."""

    match: Match


@dataclass(frozen=True)
class Fuse:
    """Put one Triton kernel in the place of the Action's region, which lies around what `Around` says."""

    around: Around


@dataclass(frozen=True)
class Wrap:
    """Have the forward of the class `module` run in another way, as a whole: one of the helpers does it."""

    module: str
    how: tuple[Helper, ...]


@dataclass(frozen=True)
class Ask:
    """Nothing that is mechanical: who reads the strategy's instruction may write it."""


Intent = Text | Rewrite | Fuse | Wrap | Ask
