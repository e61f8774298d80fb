"""A launch with one program too few: the tail, or the last row, is nobody's."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, field, in_brackets, replaced
from tree_sitter import Node


def faults(code: Code) -> Iterator[Fault]:
    for node, function in code.everywhere("assignment", "call"):
        if function.jit:
            continue
        for size in _sizes(code, node):
            text = code.content(size)
            if size.type == "call" and code.called(size) == "triton.cdiv":
                whole, part = (in_brackets(code, argument) for argument in arguments(size))
                yield Fault((replaced(size, f"{whole} // {part}"),), f"the grid is rounded down: {text}")
            yield Fault((replaced(size, f"{in_brackets(code, size)} - 1"),), f"one program too few: {text}")


def _sizes(code: Code, node: Node) -> list[Node]:
    """The sizes of a grid: `grid = (…)`, or the subscript of a launch."""
    if node.type == "assignment":
        right = node.child_by_field_name("right")
        named = code.content(field(node, "left")) == "grid"
        return list(right.named_children) if named and right is not None and right.type == "tuple" else []
    called = field(node, "function")
    if called.type != "subscript":
        return []
    index = field(called, "subscript")
    return list(index.named_children) if index.type == "tuple" else []


OPERATOR = Operator("short-grid", "a launch with one program too few", faults)
