"""A bound that is one too small or too large: in a mask, a loop, a slice or the numbers of a block."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, in_brackets, replaced, sides

# One step in the direction that another comparison sign would not give as well.
_STEP = {"<": "- 1", ">": "+ 1", "<=": "+ 1", ">=": "- 1"}


def faults(code: Code) -> Iterator[Fault]:
    for node, function in code.everywhere("comparison_operator", "call", "slice"):
        if node.type == "comparison_operator":
            if function.jit and len(node.named_children) == 2:
                _, sign, right = sides(node)
                if sign in _STEP:
                    yield _moved(code, right, _STEP[sign], "bound of a comparison")
        elif node.type == "slice":
            for child in node.named_children:
                first = child.start_byte == node.start_byte
                yield _moved(code, child, "+ 1" if first else "- 1", "bound of a slice")
        elif code.called(node) in ("range", "triton.language.range", "triton.language.static_range"):
            given = arguments(node)
            if len(given) > 1:
                yield _moved(code, given[0], "+ 1", "start of a loop")
            yield _moved(code, given[min(len(given), 2) - 1], "- 1", "end of a loop")
        elif code.called(node) == "triton.language.arange":
            yield _moved(code, node, "+ 1", "numbers of a block")


def _moved(code: Code, node, step: str, what: str) -> Fault:
    text = f"{in_brackets(code, node)} {step}"
    return Fault((replaced(node, text),), f"{what}: {code.content(node)} became {text}")


OPERATOR = Operator("off-by-one-bound", "a bound that is one too small or too large", faults)
