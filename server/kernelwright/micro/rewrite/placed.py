"""A region in the first place where its code can go; where a class runs for several modules, one that is right for all."""

from collections.abc import Callable
from dataclasses import replace

from kernelwright.micro.rewrite.program import Operand, Program
from kernelwright.micro.rewrite.regions import FusedRegion
from kernelwright.micro.rewrite.triton_printer import is_wide
from kernelwright.place.placements import Placement, placements
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Refusal

Build = Callable[[SourceMap, tuple[int, ...]], FusedRegion | Refusal]


def placed(source: SourceMap, nodes: tuple[int, ...], build: Build) -> FusedRegion | Refusal:
    """The region that `build` makes in the first legal place; the Refusal of the last one that was tried otherwise."""
    refusals: list[Refusal] = []
    for placement in placements(source, nodes):
        region = placement if isinstance(placement, Refusal) else _in(placement, build)
        if isinstance(region, FusedRegion):
            return region
        opened = isinstance(placement, Placement) and placement.opening is not None
        refusals.append(Refusal(region.reason, refusals[0].line) if opened else region)  # lines of the user's text
    return refusals[-1]


def _in(placement: Placement, build: Build) -> FusedRegion | Refusal:
    """The region in one place, for the largest of its runs: a kernel made for that one takes the others too."""
    regions: list[FusedRegion] = []
    for run in placement.runs:
        region = build(run.source, run.nodes)
        if isinstance(region, Refusal):
            return region
        regions.append(region)
    largest = max(regions, key=lambda region: (region.domain.length, region.domain.numel))
    if any(_written(region) != _written(largest) for region in regions):
        return Refusal("The modules that run this code name its values differently.", largest.edit.start_line)
    if any(_form(region.program) != _form(largest.program) for region in regions):
        return Refusal("The modules that run this code do not all fit one kernel.", largest.edit.start_line)
    edit = replace(largest.edit, opening=placement.opening)
    others = tuple(region.nodes for region in regions if region is not largest)
    saved = sum(region.saved_bytes for region in regions)
    return replace(largest, edit=edit, saved_bytes=saved, others=others)


def _written(region: FusedRegion) -> tuple[object, ...]:
    """What the edit puts into the source, but for the name of the launcher."""
    edit, inputs = region.edit, region.program.operands
    values = tuple(edit.names.get(operand.value) for operand in inputs)
    return edit.edits, edit.sink, edit.before_call, values, tuple(edit.scalars.values())


def _form(program: Program) -> tuple[object, ...]:
    """The program without its sizes: programs that agree in it are printed as the same kernel, but for a tile's size."""
    domain = program.domain
    ones = tuple(size == 1 for size in (*domain.shape, domain.outer, domain.length, domain.inner))
    operands = tuple(_operand_form(operand, program) for operand in program.operands)
    sizeless = replace(domain, value=0, shape=(), outer=1, length=1, inner=1)
    rest = replace(program, domain=sizeless, operands=(), result_shape=())
    return rest, ones, len(program.result_shape), operands, is_wide(program)


def _operand_form(operand: Operand, program: Program) -> tuple[object, ...]:
    """An operand without its sizes."""
    terms = tuple((t.last, t.outermost, t.stride == 0) for t in operand.terms or ())
    same = operand.shape == program.domain.shape
    ones = tuple(size == 1 for size in operand.shape)
    place = operand.dims, operand.axis, operand.places
    return operand.name, operand.level, operand.dtype, operand.terms is None, terms, same, ones, place
