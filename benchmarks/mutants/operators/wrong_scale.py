"""A factor or divisor left out, or a product that became a quotient."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, in_brackets, replaced, sides


def faults(code: Code) -> Iterator[Fault]:
    for node, function in code.everywhere("binary_operator"):
        left, sign, right = sides(node)
        if sign not in ("*", "/", "//", "%", "**"):
            continue
        yield Fault((replaced(node, in_brackets(code, left)),), f"dropped: {sign} {code.content(right)}")
        if sign == "*" and function.jit:
            yield Fault((replaced(node, in_brackets(code, right)),), f"dropped: {code.content(left)} *")
        other = {"*": "/", "/": "*"}.get(sign)
        # The integers of an address become no address when they are divided.
        if other is not None and not (function.jit and sign == "*"):
            text = f"{in_brackets(code, left)} {other} {in_brackets(code, right)}"
            yield Fault((replaced(node, text),), f"{code.content(node)} became {text}")


OPERATOR = Operator("wrong-scale", "a factor or divisor left out, or the wrong way round", faults)
