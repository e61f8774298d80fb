"""Another comparison sign."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Change, Code, sides

_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("comparison_operator"):
        if len(node.named_children) != 2:
            continue
        _, sign, _ = sides(node)
        if sign in _OTHER:
            other = _OTHER[sign]
            change = Change(node.children[1].start_byte, node.children[1].end_byte, other)
            yield Fault((change,), f"{sign} became {other} in {code.content(node)}")


OPERATOR = Operator("wrong-comparison", "another comparison sign", faults)
