"""The operands of something that does not commute, exchanged."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, in_brackets, replaced, sides

_SIGNS = ("-", "/", "//", "@", "%", ">>", "**")
_LAST_TWO = ("triton.language.dot", "torch.matmul", "torch.bmm", "torch.mm", "triton.language.where", "torch.where")


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("binary_operator", "call"):
        if node.type == "binary_operator":
            left, sign, right = sides(node)
            if sign in _SIGNS:
                yield _swapped(code, left, right, sign)
        elif code.called(node) in _LAST_TWO and len(arguments(node)) >= 2:
            first, second = arguments(node)[:3][-2:]
            yield _swapped(code, first, second, code.called(node))
        elif code.called(node) == "torch.cat" and arguments(node)[0].type in ("tuple", "list"):
            parts = arguments(node)[0].named_children
            if len(parts) == 2:
                yield _swapped(code, parts[0], parts[1], "torch.cat")


def _swapped(code: Code, left, right, what: str) -> Fault:
    changes = (replaced(left, in_brackets(code, right)), replaced(right, in_brackets(code, left)))
    return Fault(changes, f"{code.content(left)} and {code.content(right)} exchanged in {what}")


OPERATOR = Operator("swapped-operands", "operands of something that does not commute, exchanged", faults)
