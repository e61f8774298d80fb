"""An index that 32 bits cannot hold with the sizes of the workload."""

from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda.text import field, walk
from kernelwright.source.findings.cuda import CudaChange, CudaProblem, CudaUnit, Element
from kernelwright.source.findings.cuda_ranges import Reach
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_WIDE = ("64", "size_t", "long", "ptrdiff_t", "intptr_t", "auto")
_SIGNED = 2**31 - 1
_UNSIGNED = 2**32 - 1


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    for element in unit.elements:
        if element.space != "global":
            continue
        for site in unit.launches:
            extent = site.extents.get(element.base, 0)
            if extent <= _SIGNED:
                continue
            highest = Reach(unit, site, element).highest()
            parts = _parts(unit, element.node)
            limit = _UNSIGNED if _is_unsigned(unit, element.node) else _SIGNED
            if (
                highest is not None
                and min(highest, extent - 1) > limit
                and not any(_is_wide(unit, one) for one in parts)
            ):
                yield _problem(unit, element, extent, limit)
                break


def _problem(unit: CudaUnit, element: Element, extent: int, limit: int) -> CudaProblem:
    message = (
        f"{element.base} has {extent} elements in this workload, and an index of 32 bits ends at {limit}: "
        "make the product one of 64 bits."
    )
    factor = _first_factor(unit, element.node)
    if factor is None:
        return CudaProblem(element.node, message)
    return CudaProblem(
        element.node, message, fix="Multiply in 64 bits", changes=(CudaChange(factor, "(size_t)", before=True),)
    )


def _first_factor(unit: CudaUnit, access: Node) -> Node | None:
    """The left side of the first product in the index, where a cast makes all of it wide."""
    indices = field(access, "indices")
    node = indices.named_children[0] if indices is not None and indices.named_children else None
    while node is not None and node.type in ("binary_expression", "parenthesized_expression"):
        inner = node.named_children[0]
        sign = field(node, "operator")
        if sign is not None and unit.content(sign) == "*" and inner.type in ("identifier", "field_expression"):
            return inner
        node = inner
    return None


def _parts(unit: CudaUnit, access: Node) -> list[Node]:
    """All nodes that the address is made of, through locals."""
    found: list[Node] = []
    waiting, seen = [access], set()
    while waiting:
        for node in walk(waiting.pop()):
            found.append(node)
            variable = unit.flow.variable(node) if node.type == "identifier" else None
            if variable is not None and variable.name not in seen:
                seen.add(variable.name)
                waiting += [one.value for one in unit.flow.writes(variable) if one.value is not None]
    return found


def _is_wide(unit: CudaUnit, node: Node) -> bool:
    if node.type in ("cast_expression", "template_argument_list"):
        kind = unit.content(field(node, "type") or node)
    elif node.type == "number_literal":
        return "l" in unit.content(node).lower() and "x" not in unit.content(node).lower()
    elif node.type == "identifier":
        variable = unit.flow.variable(node)
        kind = (
            unit.content(variable.declaration).split(variable.name)[0]
            if variable is not None and not variable.is_pointer
            else ""
        )
    elif node.type == "call_expression":
        kind = unit.content(field(node, "function") or node)
    else:
        return False
    return any(word in kind for word in _WIDE)


def _is_unsigned(unit: CudaUnit, access: Node) -> bool:
    """Whether the index is worked out in unsigned numbers, as those of `blockIdx` are."""
    for node in walk(access):
        variable = unit.flow.variable(node) if node.type == "identifier" else None
        if node.type == "field_expression" and unit.content(node).split(".")[0] in (
            "blockIdx",
            "blockDim",
            "threadIdx",
            "gridDim",
        ):
            return True
        if variable is not None and "unsigned" in unit.content(variable.declaration).split(variable.name)[0]:
            return True
    return False


RULE = Rule(
    code="cuda.int32-index",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Index too large for 32 bits",
    doc="""An `int` ends at 2,147,483,647. With more elements than that, `row * cols + col` becomes negative, and the kernel
reads and writes anywhere. Cast the first factor to `size_t`, or take `size_t` for the index. Said where the sizes in the
workload show it.""",
    example_wrong="""
__global__ void twice(float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (col < cols) x[row * cols + col] *= 2.0f;
}

// workload: run(x=inout(randn(rows * cols)), rows=50000, cols=60000)
extern "C" cudaError_t run(float* x, int rows, int cols) {
    twice<<<dim3((cols + 255) / 256, rows), 256>>>(x, rows, cols);
    return cudaGetLastError();
}
""",
    example_right="""
__global__ void twice(float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (col < cols) x[(size_t)row * cols + col] *= 2.0f;
}

// workload: run(x=inout(randn(rows * cols)), rows=50000, cols=60000)
extern "C" cudaError_t run(float* x, int rows, int cols) {
    twice<<<dim3((cols + 255) / 256, rows), 256>>>(x, rows, cols);
    return cudaGetLastError();
}
""",
    check=check,
)
