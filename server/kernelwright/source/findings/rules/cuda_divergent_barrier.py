"""A barrier that only some threads of a block come to."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda.flow import VARYING
from kernelwright.source.cuda.text import field, of_type
from kernelwright.source.cuda.variables import Guard, jump_of, plain
from kernelwright.source.findings.cuda import CudaProblem, CudaUnit
from kernelwright.source.findings.cuda_launches import AXES
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_ROUNDED = re.compile(r"/\(*([\w.]+)\)*\*\(*\1\)*$|^\(*([\w.]+)\*\(.{0,200}/\2\)*$|(?:round|align|pad)\w{0,20}\(", re.I)
_NAMED_SO = re.compile(r"round|padded|aligned", re.I)
_CAST = re.compile(r"static_cast<[^<>]{0,99}>")
_CONSTANT = re.compile(r"\w[\w:<>,]*$")
_BARRIER = re.compile(r"__syncthreads(?:_and|_or|_count)?$")


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    for call in unit.flow.of_type("call_expression"):
        if not _is_barrier(unit, call):
            continue
        guard = next((one for one in unit.guards(call) if _divides(unit, one)), None)
        if guard is not None:
            yield CudaProblem(call, _message(guard), line_of=guard.statement)


def _message(guard: Guard) -> str:
    if guard.jump == "return_statement":
        return (
            "Threads that return in line {line} never come to this barrier, nor do their share of what it waits for: "
            "let them stay, and skip the work under a condition."
        )
    if guard.jump:
        return (
            "Threads that leave the loop in line {line} never come to this barrier: let them stay, and skip the work under "
            "a condition."
        )
    if guard.is_loop:
        return (
            "The loop in line {line} does not turn equally often for all threads of the block, so some never come to this "
            "barrier: let all turn as often, and put the condition around the work."
        )
    return (
        "Only some threads of a block come to this barrier, by the condition in line {line}, and the others may wait for ever: "
        "move it behind the branch."
    )


def _divides(unit: CudaUnit, guard: Guard) -> bool:
    """Whether threads of one block certainly can take different ways here, and that matters."""
    if not unit.flow.varies(guard.condition) or _is_alike(unit, guard):
        return False
    if guard.jump == "return_statement":
        return _is_tail(unit, guard) and _would_store(unit, guard)
    return not _turns_equally(unit, guard) if guard.is_loop else not _has_counterpart(unit, guard)


def _is_alike(unit: CudaUnit, guard: Guard) -> bool:
    """Whether a condition only depends on an index of the thread that is 0 in all threads of the launches' blocks."""
    sizes = dict(zip(AXES, unit.block, strict=True))
    axes = [name.removeprefix("threadIdx.") for name in _names(unit, guard) if name.startswith(("threadIdx", VARYING))]
    return bool(axes) and all(sizes.get(axis) == 1 for axis in axes)


def _is_tail(unit: CudaUnit, guard: Guard) -> bool:
    """Whether the threads of the last block leave that have no work, as by `if (i >= n) return;`.

    Where only `threadIdx.y` or `threadIdx.z` decides, the threads that leave may have had a part of their own.
    """
    names = _names(unit, guard)
    return "threadIdx.x" in names and any(name.startswith("blockIdx") for name in names)


def _names(unit: CudaUnit, guard: Guard) -> set[str]:
    """What the two sides of a comparison are made of."""
    sides = (field(guard.condition, "left"), field(guard.condition, "right"))
    return {name for side in sides if side is not None for name in unit.flow.polynomial(side).names}


def _would_store(unit: CudaUnit, guard: Guard) -> bool:
    """Whether each thread that stays fills its part of shared memory.

    Not where the part also depends on an index that does not decide who leaves: each may be read by those of its own column.
    """
    axes = {name for name in _names(unit, guard) if name.startswith("threadIdx")}
    return any(
        one.space == "shared"
        and one.writes
        and one.index.names
        and not unit.is_one_thread(one.node)
        and {name for name in one.index.names if name.startswith("threadIdx")} <= axes
        for one in unit.elements
        if one.node.start_byte > guard.statement.end_byte
    )


def _has_counterpart(unit: CudaUnit, guard: Guard) -> bool:
    """Whether the threads that go the other way come to as many barriers there, or to some behind a branch that returns."""
    ways = (field(guard.statement, "consequence"), field(guard.statement, "alternative"))
    counts = [sum(_is_barrier(unit, one) for one in of_type(way, "call_expression")) for way in ways if way is not None]
    if len(counts) == 1 and ways[0] is not None and jump_of(ways[0]) == "return_statement":
        calls = unit.flow.of_type("call_expression")
        return any(_is_barrier(unit, one) for one in calls if one.start_byte > guard.statement.end_byte)
    return len(counts) == 2 and counts[0] == counts[1]


def _is_barrier(unit: CudaUnit, call: Node) -> bool:
    callee = field(call, "function")
    return callee is not None and _BARRIER.match(unit.content(callee)) is not None


def _turns_equally(unit: CudaUnit, guard: Guard) -> bool:
    """Whether a loop `for (i = threadIdx.x; i < 1024; i += 256)` has the same number of turns for every thread of 256.

    So it has where the bound is rounded up to whole steps, or moves with the thread as the start does.
    """
    condition, step = guard.condition, _step(guard.statement)
    right, sign = field(condition, "right"), field(condition, "operator")
    if right is None or sign is None or unit.content(sign) != "<":
        return False
    if _NAMED_SO.search(unit.content(right)) or _ROUNDED.search(_made_of(unit, right)):
        return True
    if step is None or _moves_along(unit, guard.statement, right):
        return step is not None
    bound, by = unit.flow.polynomial(right).at(unit.known), unit.flow.polynomial(step).at(unit.known)
    if bound.number is None or by.number is None or by.number <= 0:
        return unit.content(right) == unit.content(step) or _are_constants(unit, bound.names | by.names)
    return bound.number % by.number == 0


def _are_constants(unit: CudaUnit, names: frozenset[str]) -> bool:
    """Whether all names stand for what the compiler knows, such as `Traits::COLS`: sizes that may be made to fit."""
    return all(_CONSTANT.match(name) and name not in unit.flow.variables for name in names)


def _made_of(unit: CudaUnit, bound: Node) -> str:
    """The bound as it is written, or what it was declared with."""
    variable = unit.flow.variable(bound) if bound.type == "identifier" else None
    values = [one.value for one in unit.flow.writes(variable)] if variable is not None else []
    return _CAST.sub("", plain(unit.content(values[0] if len(values) == 1 and values[0] is not None else bound)))


def _moves_along(unit: CudaUnit, loop: Node, bound: Node) -> bool:
    """Whether a loop's bound is as far from its start for all threads."""
    initializer = field(loop, "initializer")
    start = (
        next((field(one, "value") for one in of_type(initializer, "init_declarator")), None) if initializer else None
    )
    if start is None or not unit.flow.varies(start):
        return False
    names = (unit.flow.polynomial(bound) - unit.flow.polynomial(start)).names
    return not any(name.startswith((VARYING, "threadIdx")) for name in names)


def _step(loop: Node) -> Node | None:
    update = field(loop, "update")
    assignment = next(of_type(update, "assignment_expression"), None) if update is not None else None
    return field(assignment, "right")


RULE = Rule(
    code="cuda.divergent-barrier",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Barrier that not all threads come to",
    doc="""`__syncthreads()` waits for all threads of the block. In a branch or loop whose condition depends on `threadIdx`,
some threads never come to it: the kernel hangs, or threads meet at different barriers and read what is not there yet.
Threads that have returned before are not waited for, but those of the last block do not load their part of a shared
tile either. Put the
condition around the work and leave the barrier to all threads.""",
    example_wrong="""
__global__ void neighbours(const float* x, float* y, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        tile[threadIdx.x] = x[i];
        __syncthreads();
        y[i] = tile[threadIdx.x] + tile[(threadIdx.x + 1) % 256];
    }
}
""",
    example_right="""
__global__ void neighbours(const float* x, float* y, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = tile[threadIdx.x] + tile[(threadIdx.x + 1) % 256];
}
""",
    check=check,
)
