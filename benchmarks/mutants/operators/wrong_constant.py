"""A constant that is slightly or plainly wrong: 0.5 as 0.51, eps ten times as large or none, half a block."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, field, replaced
from tree_sitter import Node

_EPSILON = 1e-3  # what is as small only keeps something away from zero
_SMALLEST_BLOCK = 16


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("float", "integer", "call"):
        text = code.content(node)
        for other in _others(code, node, text):
            yield Fault((replaced(node, other),), f"{text} became {other}")


def _others(code: Code, node: Node, text: str) -> tuple[str, ...]:
    if node.type == "call":
        return (f"{text} // 2",) if code.called(node) == "triton.next_power_of_2" else ()
    if node.type == "float":
        value = float(text)
        if 0 < value <= _EPSILON:
            return (repr(value * 10), "0.0")
        return (repr(round(value * 1.02, 6)) if value else "0.01",)
    if _named_in_capitals(code, node) and int(text, 0) >= _SMALLEST_BLOCK:
        return (str(int(text, 0) // 2),)
    return (str(int(text, 0) + 1),) if _counts(code, node) else ()


def _named_in_capitals(code: Code, node: Node) -> bool:
    """`BLOCK=256` at a launch or as an assignment."""
    parent = node.parent
    if parent is None or parent.type not in ("keyword_argument", "assignment"):
        return False
    name = parent.child_by_field_name("name") or parent.child_by_field_name("left")
    return name is not None and code.content(name).isupper()


def _counts(code: Code, node: Node) -> bool:
    """Whether a whole number is computed with, and neither an index, an axis nor a size."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "binary_operator":
        # A step by one is another operator's business.
        return not (code.content(node) == "1" and field(parent, "operator").type in ("+", "-"))
    call = parent.parent if parent.type == "argument_list" else None
    return call is not None and code.called(call) in (".pow", ".clamp", "torch.pow", "torch.clamp")


OPERATOR = Operator("wrong-constant", "a constant that is wrong", faults)
