"""A region of the graph as straight-line fp32 code over one dense tensor, before it is printed as a Triton kernel."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.nest.layouts import CHANNELS_LAST, CONTIGUOUS

ELEMENT, ROW, SCALAR = "element", "row", "scalar"


@dataclass(frozen=True)
class Domain:
    """A dense tensor seen as (outer, length, inner); reductions run over `length`.

    The three follow the order of the dims, whatever the layout; `memory` follows the addresses. `shape` and `value` are
    those of the input that gives the size. `axes` is the reduced range of dims of `shape`, None where the rows are groups
    of channels (then `groups` is their number per item).
    """

    value: int
    shape: tuple[int, ...]
    outer: int
    length: int = 1
    inner: int = 1
    axes: tuple[int, int] | None = None
    groups: int = 0
    layout: str = CONTIGUOUS

    @property
    def numel(self) -> int:
        return self.outer * self.length * self.inner

    @property
    def over_channels(self) -> bool:
        """Whether the rows are the channels of each position, side by side in memory."""
        return self.layout == CHANNELS_LAST and self.axes == (1, 2)

    @property
    def memory(self) -> tuple[int, int, int] | None:
        """(outer, length, inner) in the order of memory; None where channels-last rows are no such block."""
        if self.layout == CONTIGUOUS:
            return self.outer, self.length, self.inner
        positions = math.prod(self.shape[2:])
        if self.over_channels:
            return self.shape[0] * positions, self.length, 1
        if self.axes == (2, len(self.shape)):
            return self.shape[0], positions, self.shape[1]
        whole = self.axes is not None and self.axes[0] < 2 and self.axes[1] == len(self.shape)
        return (self.outer, self.length, 1) if whole else None


@dataclass(frozen=True)
class Term:
    """One term of an operand's index: (flat // inner) % size * stride, in elements.

    `last` is the number of dims that come after the term's own, when it is known; `outermost` leaves the modulo out.
    """

    inner: int
    size: int
    stride: int
    last: int = -1
    outermost: bool = False


@dataclass(frozen=True)
class Operand:
    """A tensor that is loaded. `terms` index it from the flat element (or row) offset; None: by that offset itself.

    `dims` are for each term the operand's own dims that it walks over; `axis` is the tensor's dim along which alone the
    operand differs, if there is one. `places` are for each of its own dims the main tensor's dim that it lies along, None
    for a dim of size 1; None as a whole where views stand between.
    """

    name: str
    value: int
    level: str
    dtype: str
    terms: tuple[Term, ...] | None = None
    dims: tuple[tuple[int, int], ...] = ()
    shape: tuple[int, ...] = ()
    axis: int | None = None
    places: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class Line:
    """`name = expression`, or for `reduce` ("sum", "max", "min", "argmax", …) the reduction of the element `expression`.

    `tag` marks lines that a looped kernel may do in one pass: "online" (max, exp, sum) and "moments" (sum, mean,
    centred, squared, sum).
    """

    name: str
    expression: str
    level: str
    uses: tuple[str, ...]
    reduce: str = ""
    tag: str = ""
    kind: str = "float"


@dataclass(frozen=True)
class Program:
    """A region as code. `any_dtype`: it is right for all floats that Triton computes in fp32, where all are of one dtype.

    `any_rank`: it is right for further, or fewer, leading dims.
    """

    domain: Domain
    operands: tuple[Operand, ...]
    scalars: Mapping[str, str]  # parameter name -> expression at the call
    lines: tuple[Line, ...]
    result: str
    result_level: str
    result_shape: tuple[int, ...]
    result_dtype: str
    helpers: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    casts: bool = False  # the source names the result's dtype itself
    result_layout: str = CONTIGUOUS
    any_dtype: bool = False
    any_rank: bool = False
    eager: tuple[str, ...] = ()  # lines of a launcher that answer by torch alone where a gradient is asked for

    @property
    def main(self) -> Operand:
        """The operand whose shape gives the sizes."""
        return next(o for o in self.operands if o.value == self.domain.value and o.terms is None and o.level == ELEMENT)

    @property
    def transposes(self) -> bool:
        """Whether the result lies in memory in another order than the operands that are walked through."""
        return self.result_level == ELEMENT and self.result_layout != self.domain.layout

    def needed(self, targets: set[str], available: set[str]) -> list[Line]:
        """The lines of element level that `targets` depend on, in order; names in `available` are not followed."""
        wanted = set(targets) - available
        chosen: list[Line] = []
        for line in reversed(self.lines):
            if line.name in wanted and not line.reduce and line.level == ELEMENT:
                chosen.append(line)
                wanted |= set(line.uses) - available
        return chosen[::-1]
