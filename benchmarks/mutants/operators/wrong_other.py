"""Another value where nothing was loaded, nothing is known yet, or something is masked."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, field, keywords, replaced
from tree_sitter import Node

_FILLING = {"triton.language.where": 2, "torch.where": 2, ".masked_fill": 1, "triton.language.full": 1}
_INFINITE = ('-float("inf")', "-float('inf')")


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call", "unary_operator"):
        if node.type == "unary_operator":
            if code.content(node) in _INFINITE:
                for other in ("0.0", "-1e4"):
                    yield Fault((replaced(node, other),), f"{code.content(node)} became {other}")
            continue
        for value in _values(code, node):
            if code.content(value) in ("0", "0.0"):
                other = code.content(value).replace("0", "1", 1)
                yield Fault((replaced(value, other),), f"{code.content(value)} became {other}")
        mode = keywords(code, node).get("mode")
        if mode is not None and code.called(node) == "torch.nn.functional.pad":
            other = '"circular"' if "replicate" in code.content(mode) else '"replicate"'
            yield Fault((replaced(field(mode, "value"), other),), f"{code.content(mode)} became {other}")


def _values(code: Code, call: Node) -> list[Node]:
    found = [field(given, "value") for name, given in keywords(code, call).items() if name == "other"]
    place = _FILLING.get(code.called(call))
    if place is not None and len(arguments(call)) > place:
        found.append(arguments(call)[place])
    return found


OPERATOR = Operator("wrong-other", "another value where nothing is loaded or something is masked", faults)
