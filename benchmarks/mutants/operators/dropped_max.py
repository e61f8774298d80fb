"""The maximum is not subtracted before exponentials, or not carried from block to block."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, in_brackets, replaced, sides

_EXPONENTIALS = ("triton.language.exp", "triton.language.exp2", "torch.exp", "torch.exp2")


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call"):
        called, given = code.called(node), arguments(node)
        if called in _EXPONENTIALS and given and given[0].type == "binary_operator":
            left, sign, right = sides(given[0])
            if sign == "-":
                change = replaced(given[0], in_brackets(code, left))
                yield Fault((change,), f"not subtracted before the exponential: {code.content(right)}")
        elif called in ("triton.language.maximum", "torch.maximum") and len(given) == 2:
            for kept, lost in ((1, 0), (0, 1)):
                change = replaced(node, in_brackets(code, given[kept]))
                yield Fault((change,), f"not taken into the maximum: {code.content(given[lost])}")


OPERATOR = Operator("dropped-max", "the maximum is not subtracted before exponentials, or not carried on", faults)
