"""The result is written over an input."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, replaced, sides

_METHODS = {"+": "add_", "-": "sub_", "*": "mul_", "/": "div_"}
_POINTWISE = ("torch.exp", "torch.relu", "torch.sigmoid", "torch.sqrt", "torch.round", "torch.abs", "torch.tanh")


def faults(code: Code) -> Iterator[Fault]:
    for node, function in code.everywhere("binary_operator", "call"):
        if not function.computes:
            continue
        if node.type == "binary_operator":
            left, sign, right = sides(node)
            if sign in _METHODS and code.content(left) in function.parameters:
                text = f"{code.content(left)}.{_METHODS[sign]}({code.content(right)})"
                yield Fault((replaced(node, text),), f"{code.content(left)} is written over: {text}")
            continue
        given = arguments(node)
        if code.called(node) == "torch.empty_like" and given:
            yield Fault(
                (replaced(node, code.content(given[0])),), f"the output is written over {code.content(given[0])}"
            )
        elif code.called(node) in ("torch.empty", "torch.zeros") and function.parameters:
            first = function.parameters[0]
            yield Fault((replaced(node, first),), f"the output is written over {first}")
        elif code.called(node) in _POINTWISE and given and code.content(given[0]) in function.parameters:
            text = f"{code.content(given[0])}.{code.called(node).removeprefix('torch.')}_()"
            yield Fault((replaced(node, text),), f"{code.content(given[0])} is written over: {text}")


OPERATOR = Operator("in-place", "the result is written over an input", faults)
