"""Threads that write different values to the same element."""

from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda.flow import VARYING
from kernelwright.source.cuda.text import field, walk
from kernelwright.source.findings.cuda import CudaChange, CudaProblem, CudaUnit, Element
from kernelwright.source.findings.cuda_launches import LaunchSite
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_ADDED = ("int", "unsigned", "unsigned int", "float", "double", "unsigned long long")


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    if not unit.function.is_kernel:
        return
    said = set()
    for element in unit.elements:
        if element.space != "global" or element.kind not in ("store", "update") or not element.is_known:
            continue
        statement = element.node.parent
        if statement is None or (element.base, element.index) in said:
            continue
        by_threads = _among_threads(unit, element, statement)
        if by_threads or _among_blocks(unit, element, statement):
            said.add((element.base, element.index))
            yield _problem(unit, element, statement, "threads of a block" if by_threads else "blocks")


def _problem(unit: CudaUnit, element: Element, statement: Node, who: str) -> CudaProblem:
    target = unit.content(element.node)
    if element.kind == "store":
        return CudaProblem(
            element.node,
            f"All {who} write their own value to {target}, and any one of them stays: give each an element of its own, "
            "or let one thread write the result.",
        )
    message = f"All {who} read, change and write {target} at once, so updates get lost: use an atomic, or reduce first."
    operator, value = field(statement, "operator"), field(statement, "right")
    parameter = unit.function.parameter(element.base)
    if (
        operator is None
        or value is None
        or unit.content(operator) != "+="
        or parameter is None
        or parameter.base not in _ADDED
        or statement.parent is None
        or statement.parent.type != "expression_statement"
    ):
        return CudaProblem(element.node, message)
    address = target[1:].strip() if target.startswith("*") else f"&{target}"
    change = CudaChange(statement, f"atomicAdd({address}, {unit.content(value)})")
    return CudaProblem(element.node, message, fix="Use atomicAdd", changes=(change,))


def _among_threads(unit: CudaUnit, element: Element, statement: Node) -> bool:
    if any(name.startswith("threadIdx") for name in element.index.names) or unit.is_one_thread(element.node):
        return False
    if unit.launches and all(site.threads == 1 for site in unit.launches):
        return False
    if not unit.launches and "Idx" not in unit.content(unit.function.body):
        return False  # made for one thread
    return element.kind == "update" or (_differs(unit, statement) and not _is_picked(unit, element))


def _is_picked(unit: CudaUnit, element: Element) -> bool:
    """Whether data or a function decide which thread stores, as by `if (key[t] <= k && k < key[t + 1])`."""
    return any(
        not guard.is_loop
        and unit.flow.may_vary(guard.condition)
        and any(node.type in ("subscript_expression", "call_expression") for node in walk(guard.condition))
        for guard in unit.guards(element.node)
    )


def _among_blocks(unit: CudaUnit, element: Element, statement: Node) -> bool:
    if any(name.startswith(("blockIdx", VARYING)) for name in element.index.names):
        return False
    if not unit.launches or not all(_has_blocks(site) for site in unit.launches):
        return False
    for guard in unit.guards(element.node):
        names = _behind(unit, guard.condition)
        if "blockIdx" in names or "gridDim" in names or not (unit.flow.varies(guard.condition) or guard.is_loop):
            return False
        if any(node.type in ("subscript_expression", "call_expression") for node in walk(guard.condition)):
            return False
    value = field(statement, "right")
    return element.kind == "update" or (value is not None and "blockIdx" in _behind(unit, value))


def _has_blocks(site: LaunchSite) -> bool:
    return (site.blocks or 0) > 1 or (site.blocks is None and any(site.rounds_up(axis) for axis in range(3)))


def _differs(unit: CudaUnit, statement: Node) -> bool:
    """Whether threads of a block certainly store different values."""
    value = field(statement, "right")
    return value is not None and statement.type == "assignment_expression" and unit.flow.varies(value)


def _behind(unit: CudaUnit, node: Node) -> set[str]:
    """The names that a value is made of, through the locals of the kernel."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        for one in walk(waiting.pop()):
            name = unit.content(one) if one.type == "identifier" else ""
            if not name or name in found:
                continue
            found.add(name)
            variable = unit.flow.variable(one)
            if variable is not None:
                waiting += [write.value for write in unit.flow.writes(variable) if write.value is not None]
    return found


RULE = Rule(
    code="cuda.write-race",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Many threads write one element",
    doc="""Where the index of a store depends neither on `threadIdx` nor on `blockIdx`, all threads write the same element,
and which value stays is a matter of chance; with `+=` updates get lost. Use `atomicAdd`, or reduce in the block first and let
one thread write. Not said where all write the same value (a flag), or where a condition picks one thread. After a pause in
typing z3, where it is installed, looks for two threads that write different values to one element of global or shared memory
with no barrier in between, in the launches that workload lines make, and names both.""",
    example_wrong="""
__global__ void total(const float* x, float* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) *sum += x[i];
}
""",
    example_right="""
__global__ void total(const float* x, float* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = 2.0f * x[i];
}
""",
    check=check,
)
