"""What reaches what without a barrier in between: the accesses to shared memory in the order in which they run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.text import field, of_type
from kernelwright.source.findings.cuda import CudaUnit, Element

WAITS = re.compile(
    r"sync|barrier|wait|arrive|fence|commit|block_?(?:reduce|scan|sum|max|min|sort|\w{0,9}sort|exchange|load|store)",
    re.I,
)
_LOOPS = ("for_statement", "while_statement", "do_statement")
_MOST = 4000  # steps of one function
_MOST_OPEN = 100  # accesses since the last barrier that are looked at


@dataclass(frozen=True, eq=False)
class Step:
    """An access, or a barrier where `element` is None. `turns` are the loops around it, each with the number of the turn."""

    element: Element | None
    turns: tuple[tuple[Node, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Meeting:
    """Two accesses without a barrier in between, in the order in which they run; `loop` has come to its next turn."""

    first: Element
    second: Element
    loop: Node | None

    @property
    def again(self) -> bool:
        return self.loop is not None


def meetings(unit: CudaUnit) -> Iterator[Meeting]:
    """Every write to shared memory with what comes after it up to the next barrier, and every read with the writes after it."""
    places = {one.node.id: one for one in unit.elements if one.space == "shared"}
    open_: list[Step] = []
    for count, step in enumerate(_steps(unit, unit.function.body, places, ())):
        if count > _MOST:
            return
        if step.element is None:
            open_ = []
            continue
        for before in open_:
            first = before.element
            if first is not None and first.base == step.element.base and (first.writes or step.element.writes):
                yield Meeting(first, step.element, _turned(before, step))
        open_ = [*open_[-_MOST_OPEN:], step]


def _turned(before: Step, after: Step) -> Node | None:
    """The outermost loop around both that has come to another turn in between."""
    for (loop, turn), (other, later) in zip(before.turns, after.turns, strict=False):
        if loop != other:
            return None
        if turn != later:
            return loop
    return None


def _steps(
    unit: CudaUnit, node: Node, places: dict[int, Element], turns: tuple[tuple[Node, int], ...]
) -> Iterator[Step]:
    if node.type in _LOOPS:
        parts = [
            one for one in (field(node, "condition"), field(node, "body"), field(node, "update")) if one is not None
        ]
        first = field(node, "initializer")
        if first is not None:
            yield from _steps(unit, first, places, turns)
        for number in (0, 1):
            for part in parts:
                yield from _steps(unit, part, places, (*turns, (node, number)))
        return
    if node.type == "assignment_expression":
        left, right = field(node, "left"), field(node, "right")
        for side in (right, left):
            if side is not None:
                yield from _steps(unit, side, places, turns)
        return
    for child in node.named_children:
        yield from _steps(unit, child, places, turns)
    if node.id in places:
        yield Step(places[node.id], turns)
    elif node.type == "gnu_asm_expression" or (node.type == "call_expression" and _is_barrier(unit, node)):
        yield Step(None)


def _is_barrier(unit: CudaUnit, call: Node) -> bool:
    callee = field(call, "function")
    if callee is None:
        return False
    if WAITS.search(unit.content(callee)):
        return not unit.content(callee).startswith("__shfl")
    helper = unit.file.function(unit.content(field(callee, "name") or callee))
    return helper is not None and helper is not unit.function and holds_barrier(unit.file, helper)


def holds_barrier(file: File, function: Function, depth: int = 0) -> bool:
    """Whether a function waits for other threads, or calls one that does."""
    for call in of_type(function.body, "call_expression"):
        callee = field(call, "function")
        name = file.source.content(callee) if callee is not None else ""
        if WAITS.search(name) and not name.startswith("__shfl"):
            return True
        inner = file.function(name)
        if inner is not None and depth < 4 and holds_barrier(file, inner, depth + 1):
            return True
    return False
