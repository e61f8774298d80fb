"""Threads past the end of the data, with nothing that keeps them from reading or writing there."""

import re
from collections.abc import Iterator

from kernelwright.source.findings.cuda import CudaProblem, CudaUnit, Element
from kernelwright.source.findings.cuda_launches import LaunchSite
from kernelwright.source.findings.cuda_ranges import Reach, place
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_DIVISIBLE = re.compile(r"(?:\bif|assert|CHECK\w{0,40})\s{0,9}\([^;{}%]{0,400}%[^;{}=!]{0,200}[=!]=\s{0,9}0")


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    said = set()
    for element in unit.elements:
        if element.space != "global" or (element.base, element.index) in said:
            continue
        message = next((told for site in unit.launches if (told := _outside(unit, site, element))), "") or _unguarded(
            unit, element
        )
        if message:
            said.add((element.base, element.index))
            yield CudaProblem(element.node, message)


def _outside(unit: CudaUnit, site: LaunchSite, element: Element) -> str:
    """What to say where the workload's sizes show a thread that is out of bounds."""
    extent = site.extents.get(element.base)
    witness = Reach(unit, site, element).witness(extent) if extent is not None else None
    if witness is None:
        return ""
    does = "writes" if element.writes else "reads"
    return (
        f"With the sizes of the workload, block {place(witness.block, site.grid)}, thread {place(witness.thread, site.block)} "
        f"{does} {element.base}[{witness.index}] of {extent} elements: test the index against the size before this access."
    )


def _unguarded(unit: CudaUnit, element: Element) -> str:
    """What to say where the grid is rounded up and no condition looks at the index."""
    if not unit.launches or not element.is_known:
        return ""
    for number, axis in enumerate("xyz"):
        thread, block = (element.index.coefficient(f"{name}.{axis}") for name in ("threadIdx", "blockIdx"))
        if thread is None or block is None or not thread.terms or not block.terms:
            continue
        if not all(site.rounds_up(number) and not _is_promised(unit, site) for site in unit.launches):
            continue
        if any(unit.flow.may_vary(guard.condition) for guard in unit.guards(element.node)):
            continue
        does = "write" if element.writes else "read"
        return (
            f"The grid is rounded up, so threads of its last block {does} {element.base} past the end unless the size is a "
            "multiple of the block's: test the index against the size before this access."
        )
    return ""


def _is_promised(unit: CudaUnit, site: LaunchSite) -> bool:
    """Whether the launcher asks for sizes that are divisible."""
    return _DIVISIBLE.search(unit.content(site.launch.function.body)) is not None


RULE = Rule(
    code="cuda.out-of-bounds",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Access past the end of the data",
    doc="""A grid is rounded up to whole blocks, so the last block has threads without work. What they read is foreign
memory, and what they write destroys it: put `if (i < n)` around the accesses. Where a workload line gives the sizes, the
finding names a block and a thread that is out of bounds, and also finds `i <= n` and neighbours such as `x[i + 1]`. Not said
where the launcher tests that the size is divisible, nor of indices that are themselves read from memory. After a pause in
typing z3, where it is installed, looks at each access to global and shared memory in the launches that workload lines make, and
follows `%`, `/`, shifts, `min`, branches, early returns, loops and functions of the file. The hover of the kernel says how
many accesses are within bounds, and how many could not be checked.""",
    example_wrong="""
__global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 2.0f * x[i];
}

cudaError_t run(float* x, int n) {
    twice<<<(n + 127) / 128, 128>>>(x, n);
    return cudaGetLastError();
}
""",
    example_right="""
__global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0f * x[i];
}

cudaError_t run(float* x, int n) {
    twice<<<(n + 127) / 128, 128>>>(x, n);
    return cudaGetLastError();
}
""",
    check=check,
)
