"""The forms in which a kernel's threads may compute several rows each: how many, and in blocks of which shape."""

from dataclasses import dataclass

from kernelwright.micro.rewrite.cuda_clip import clipped
from kernelwright.micro.rewrite.cuda_coarsen import reads_neighbours, regridded, row_of, wrapped
from kernelwright.micro.rewrite.cuda_coarsen_inside import unconditional
from kernelwright.micro.rewrite.cuda_coarsen_text import jammed
from kernelwright.micro.rewrite.cuda_resize import resizable, resized
from kernelwright.micro.rewrite.cuda_restrict import restricted, unrestricted
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.text import of_type
from kernelwright.values import Refusal

# Threads along x and y, None for the block that the kernel has; rows a thread; whether short loops are unrolled.
_FORMS: tuple[tuple[tuple[int, int] | None, int, bool], ...] = (
    ((32, 8), 4, False),
    (None, 4, False),
    ((32, 4), 8, True),
    ((32, 8), 4, True),
    (None, 4, True),
    ((32, 4), 8, False),
    (None, 2, False),
)
# The same for kernels without loops, and whether the rows that pass all conditions are done apart from others.
_POINTS: tuple[tuple[tuple[int, int] | None, int, bool], ...] = (
    ((128, 4), 4, True),
    ((128, 2), 8, True),
    ((32, 8), 4, True),
    ((32, 8), 4, False),
    ((128, 4), 4, False),
    (None, 4, True),
    (None, 4, False),
    (None, 2, False),
)
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


@dataclass(frozen=True)
class Coarsened:
    """A text in which each thread computes several rows, which `row` counts; `loops`: together, in the turns of a loop."""

    text: str
    words: str
    row: str
    loops: bool


def coarsened(sight: CudaSight) -> tuple[Coarsened, ...] | Refusal:
    """The texts, best guess first."""
    found, refused = dict[str, Coarsened](), None
    for block, count, apart in _FORMS if _has_loops(sight) else _POINTS:
        made = _coarsened(sight, block, count, apart)
        if isinstance(made, Coarsened):
            found.setdefault(made.text, made)
        elif block is None and not apart:
            refused = refused or made
    return refused or tuple(found.values())


def _has_loops(sight: CudaSight) -> bool:
    return next(of_type(sight.kernel.body, *_LOOPS), None) is not None


def _coarsened(sight: CudaSight, block: tuple[int, int] | None, count: int, apart: bool) -> Coarsened | Refusal:
    """`apart`: with the loops unrolled for their lengths in the workload; without loops, with conditions asked once."""
    loops = _has_loops(sight)
    words = f"{count} rows a thread{(', unrolled' if loops else ', conditions asked once') if apart else ''}"
    if block is not None:
        free = resizable(sight)
        patch = resized(sight, free, (*block, 1)) if not isinstance(free, Refusal) else None
        if patch is None:
            return Refusal("The block has to stay as it is.")
        sight, words = sight.rewritten(patch.text), f"{words}, blocks of {block[0]} x {block[1]}"
    sight = _prepared(sight, loops)
    row = row_of(sight, count)
    if isinstance(row, Refusal):
        return row
    if not loops and not reads_neighbours(sight):
        return Refusal(
            "Rows that lie beside each other read nothing that is the same.", row.declaration.start_point.row
        )
    patch = sight.patch()
    if loops:
        made = jammed(sight, row, patch, unrolled=apart)
    else:
        made = unconditional(sight, row, patch) if apart else wrapped(sight, row, patch)
    refused = made or regridded(sight, patch, count)
    return refused or Coarsened(patch.text, words, row.name, loops)


def _prepared(sight: CudaSight, loops: bool) -> CudaSight:
    """With the loops over a window clipped; without loops, with pointers of which no store changes what was read."""
    if loops:
        found = clipped(sight)
        return sight if isinstance(found, Refusal) else sight.rewritten(found[0])
    parameters = unrestricted(sight)
    return sight if isinstance(parameters, Refusal) else sight.rewritten(restricted(sight, parameters).text)
