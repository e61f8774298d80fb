"""Pointers that may be the same as far as the compiler knows, in a loop that both reads and writes."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda.definitions import Parameter
from kernelwright.source.cuda.text import field
from kernelwright.source.findings.cuda import CudaChange, CudaProblem, CudaUnit
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_BYTES = ("char", "signed char", "unsigned char", "int8_t", "uint8_t", "void")  # a store of bytes may change anything
_ORDERED = re.compile(r"atomic|__sync|__threadfence|volatile|\basm\b")  # what keeps loads where they are in any case
_LOOPS = ("for_statement", "while_statement", "do_statement")


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    pointers = [one for one in unit.function.parameters if one.is_pointer]
    if not unit.launches or any(one.is_restrict or one.pointers > 1 for one in pointers) or _may_be_same(unit):
        return
    found = _held_up(unit)
    if found is None:
        return
    read, written = found
    changes = tuple(CudaChange(one.node, _declared(unit, one)) for one in pointers)
    yield CudaProblem(
        next(one.node for one in pointers if one.name == read),
        f"For all that the compiler knows a store to {written} may change {read}, so it cannot load ahead in the loop: "
        f"declare the pointers __restrict__ if they never overlap.",
        fix="Declare the pointers __restrict__" if all(one.new_text for one in changes) else "",
        changes=changes if all(one.new_text for one in changes) else (),
    )


def _held_up(unit: CudaUnit) -> tuple[str, str] | None:
    """A pointer that is read and another one that is written in the same innermost loop."""
    loops: dict[int, tuple[set[str], set[str]]] = {}
    ordered: dict[int, bool] = {}
    for element in unit.elements:
        loop = _loop(element.node)
        if element.writes and _is_last(element.node):
            continue
        if element.space != "global" or loop is None or element.kind == "atomic":
            continue
        if loop.id not in ordered:
            ordered[loop.id] = _ORDERED.search(unit.content(loop)) is not None
        if ordered[loop.id]:
            continue
        read, written = loops.setdefault(loop.id, (set(), set()))
        if element.kind != "store":
            read.add(element.base)
        if element.writes:
            written.add(element.base)
    for read, written in loops.values():
        for one in unit.function.parameters:
            for other in unit.function.parameters if one.name in read - written else ():
                if other.name in written and (other.base == one.base or other.base in _BYTES):
                    return one.name, other.name
    return None


def _is_last(node: Node) -> bool:
    """Whether the thread leaves the loop after this, so that no load of a later turn waits for it."""
    above = node.parent
    while above is not None and above.type not in _LOOPS:
        if above.type == "compound_statement" and above.named_children[-1].type in (
            "return_statement",
            "break_statement",
        ):
            return True
        above = above.parent
    return False


def _loop(node: Node) -> Node | None:
    above = node.parent
    while above is not None and above.type not in _LOOPS:
        above = above.parent
    return above


def _may_be_same(unit: CudaUnit) -> bool:
    """Whether a launch passes one pointer twice, or what is no plain name."""
    for site in unit.launches:
        pairs = zip(unit.function.parameters, site.launch.arguments, strict=False)
        given = [site.flow.content(argument) for parameter, argument in pairs if parameter.is_pointer]
        names = [re.findall(r"[A-Za-z_]\w*", re.sub(r"<[^<>]*>", "", one)) for one in given]
        plain = [one[-1] if one else "" for one in names]
        if len(set(plain)) < len(plain) or "" in plain:
            return True
    return False


def _declared(unit: CudaUnit, parameter: Parameter) -> str:
    """The parameter with `__restrict__`; empty where its declaration is not a plain pointer."""
    declarator = field(parameter.node, "declarator")
    if declarator is None or declarator.type != "pointer_declarator":
        return ""
    name = next((one for one in unit.flow.variables[parameter.name] if one.is_parameter), None)
    if name is None:
        return ""
    written, start = unit.content(parameter.node), parameter.node.start_byte
    before = unit.file.source.source[start : name.node.start_byte].decode("utf-8", "replace")
    return f"{before.rstrip()} __restrict__ {written[len(before) :]}"


RULE = Rule(
    code="cuda.restrict",
    language=Language.CUDA,
    severity=Severity.HINT,
    title="Pointers that could be __restrict__",
    doc="""Two pointers of one type may point to the same memory, so the compiler must not move a load before a store. In a
loop that reads one and writes the other it loads one element, waits, stores, and only then loads the next one. `__restrict__`
on all pointers of the kernel says that they do not overlap; with `const` the loads go through the read-only cache. Said of
kernels with such a loop, where no launch passes the same pointer twice.""",
    example_wrong="""
__global__ void scale(const float* x, float* y, float a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i];
}

cudaError_t run(const float* x, float* y, float a, int n) {
    scale<<<1024, 256>>>(x, y, a, n);
    return cudaGetLastError();
}
""",
    example_right="""
__global__ void scale(const float* __restrict__ x, float* __restrict__ y, float a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i];
}

cudaError_t run(const float* x, float* y, float a, int n) {
    scale<<<1024, 256>>>(x, y, a, n);
    return cudaGetLastError();
}
""",
    check=check,
)
