"""A term of a sum or a difference left out; an accumulation that forgets what was there."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, field, in_brackets, replaced, sides
from tree_sitter import Node


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("binary_operator", "augmented_assignment"):
        if node.type == "augmented_assignment":
            if field(node, "operator").type in ("+=", "-="):
                yield from _forgetting(code, node)
            continue
        left, sign, right = sides(node)
        if sign not in ("+", "-"):
            continue
        yield Fault((replaced(node, in_brackets(code, left)),), f"dropped: {sign} {code.content(right)}")
        if not _address(code, left):
            kept = in_brackets(code, right) if sign == "+" else f"(-{in_brackets(code, right)})"
            yield Fault((replaced(node, kept),), f"dropped: {code.content(left)}")


def _forgetting(code: Code, node: Node) -> Iterator[Fault]:
    left = field(node, "left")
    if _address(code, left):
        yield Fault((replaced(node, "pass"),), f"dropped: {code.content(node)}")
    else:
        yield Fault((replaced(field(node, "operator"), "="),), f"what was in {code.content(left)} is forgotten")


def _address(code: Code, node: Node) -> bool:
    """Whether the leftmost operand is a pointer: what is left of an address without it is no address."""
    while node.type == "binary_operator":
        node = sides(node)[0]
    return code.content(node).endswith(("_ptr", "_ptrs"))


OPERATOR = Operator("dropped-term", "a term of a sum left out", faults)
