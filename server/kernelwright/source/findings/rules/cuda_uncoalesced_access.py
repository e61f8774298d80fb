"""Threads of a warp whose elements lie far apart in global memory."""

import re
from collections.abc import Iterator

from kernelwright.source import polynomials
from kernelwright.source.findings.cuda import SECTOR, WARP, CudaProblem, CudaUnit, Element
from kernelwright.source.findings.cuda_words import written
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Language

_FEW = 16  # what a thread reads of the sectors is still in the cache when it comes to the next element
_MAY_BE_ONE = re.compile(
    r"stride|inc|step|mul|ld|::|vec|pack|sizeof|\?", re.I
)  # or the length of a vector, as Pack::size, or either


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    if not unit.function.is_kernel:
        return  # a pointer may be one into shared memory
    axis, said = unit.lane_axis(), set()
    for element in unit.elements:
        if element.space != "global" or element.kind == "atomic" or not element.is_known:
            continue
        stride = unit.index(element).coefficient(axis)
        if stride is None or not stride.terms or (element.base, stride, element.writes) in said:
            continue
        if _is_walked(unit, element, stride):
            continue
        if stride.number is None:
            index = unit.index(element)
            if any(_MAY_BE_ONE.search(name) for name in stride.names) or _has_strides(index, axis, stride):
                continue
            if _is_inner(index, stride):
                continue
        elif not _is_far(unit, element, abs(stride.number)):
            continue
        if unit.is_one_thread(element.node) or all(size == 1 for size in unit.block):
            continue
        said.add((element.base, stride, element.writes))
        apart = abs(stride.number) if stride.number is not None else None
        yield CudaProblem(
            element.node,
            f"Neighbouring threads {'write' if element.writes else 'read'} {element.base} {written(stride)} elements apart, "
            f"so a warp moves {_sectors(element, apart)}: let {axis} step through neighbouring elements.",
        )


def _is_walked(unit: CudaUnit, element: Element, stride: Polynomial) -> bool:
    """Whether a thread goes through the few elements up to the next thread's, as many as are known when compiling."""
    few = abs(stride.number) <= _FEW if stride.number is not None else not stride.names & unit.flow.variables.keys()
    return few and any(
        one.base == element.base
        and any(
            unit.index(one).coefficient(name) == polynomials.number(1) for name in unit.index(one).names & unit.counters
        )
        for one in unit.elements
    )


def _has_strides(index: Polynomial, axis: str, stride: Polynomial) -> bool:
    """Whether each dimension has a stride of its own, so that any of them may be 1: no place is added as it is."""
    others = [names for names, _ in index.without(axis).terms if not set(names) & stride.names]
    return bool(others) and all(len(names) > 1 for names, _ in index.terms) and all(map(_is_scaled, others))


def _is_inner(index: Polynomial, stride: Polynomial) -> bool:
    """Whether the stride is a size that another part of the index is taken modulo, as that of the inner dimensions, maybe 1."""
    parts = "|".join(map(re.escape, stride.names))
    return any(re.search(rf"[/%](?:{parts})(?!\w)", name) for name in index.names - stride.names)


def _is_scaled(names: tuple[str, ...]) -> bool:
    """Whether a place is multiplied by what is the same for all threads of a launch."""
    return any(name.isidentifier() for name in names)


def _is_far(unit: CudaUnit, element: Element, stride: int) -> bool:
    """Whether most of what moves is not used, by this access or those to the elements in between."""
    if stride < 2 or element.size is None:
        return False
    if stride * element.size >= SECTOR:
        return not _in_between(unit, element, stride)
    walks = element.index.names - unit.known.keys() - {name for name in element.index.names if "." in name}
    return not walks and not _in_between(unit, element, stride)


def _in_between(unit: CudaUnit, element: Element, stride: int) -> bool:
    """Whether at least half of the elements up to the next thread's are accessed too, as in an array of structures."""
    others = [(one.index - element.index).number for one in unit.elements if one.base == element.base]
    return 2 * len({other % stride for other in others if other is not None}) >= stride


def _sectors(element: Element, stride: int | None) -> str:
    if element.size is None:
        return f"a sector of {SECTOR} bytes for each thread"
    sectors = WARP if stride is None else min(WARP, -(-WARP * stride * element.size // SECTOR))
    return f"{sectors} sectors of {SECTOR} bytes where {-(-WARP * element.size // SECTOR)} would do"


RULE = Rule(
    code="cuda.uncoalesced-access",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Neighbouring threads far apart in memory",
    doc="""Global memory moves in sectors of 32 bytes. Where `threadIdx.x` is multiplied by a stride, each thread of a warp
needs a sector of its own and uses 4 bytes of it. Let the dimension that is contiguous in memory follow `threadIdx.x`:
one warp for each row in place of one thread, loops that step by `blockDim.x`, or a tile that goes through shared memory.
Not said where the thread's neighbours in memory are used too (a structure, a pixel, a short loop over the elements in
between), nor where the stride is a parameter that may be 1.""",
    example_wrong="""
__global__ void row_sums(const float* x, float* sums, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < cols; ++i) sum += x[row * cols + i];
    sums[row] = sum;
}
""",
    example_right="""
__global__ void column_sums(const float* x, float* sums, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = 0.0f;
    for (int i = 0; i < rows; ++i) sum += x[i * cols + col];
    sums[col] = sum;
}
""",
    check=check,
)
