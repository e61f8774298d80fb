"""What fused regions must have in common for one edit to replace them in all modules of a class."""

from dataclasses import replace

from kernelwright.micro.rewrite.placed import Alike
from kernelwright.micro.rewrite.program import Operand, Program
from kernelwright.micro.rewrite.regions import FusedRegion
from kernelwright.micro.rewrite.triton_printer import is_wide


def _written(region: FusedRegion) -> tuple[object, ...]:
    """What the edit puts into the source, but for the name of the launcher."""
    edit, inputs = region.edit, region.program.operands
    values = tuple(edit.names.get(operand.value) for operand in inputs)
    return edit.edits, edit.sink, edit.mode.conditions, edit.before_call, values, tuple(edit.scalars.values())


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


FUSED: Alike[FusedRegion] = Alike(
    _written,
    lambda region: _form(region.program),
    lambda region: (region.domain.length, region.domain.numel),
)
