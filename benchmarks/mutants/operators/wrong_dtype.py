"""Another dtype comes out: of the allocation, or of the returned expression."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Change, Code, field, in_brackets, keywords, replaced


def faults(code: Code) -> Iterator[Fault]:
    for node, function in code.everywhere("call", "return_statement"):
        if not function.computes:
            continue
        if node.type == "return_statement":
            if node.named_children:
                yield from _cast(code, node)
            continue
        called, given = code.called(node), keywords(code, node)
        if called in ("torch.empty", "torch.zeros") and "dtype" in given:
            value = field(given["dtype"], "value")
            for other in _others(code.content(value)):
                yield Fault((replaced(value, other),), f"{code.content(value)} became {other}")
        elif called in ("torch.empty_like", "torch.zeros_like"):
            end = node.end_byte - 1
            yield Fault((Change(end, end, ", dtype=torch.float64"),), "the output is float64")


def _cast(code: Code, node) -> Iterator[Fault]:
    value = node.named_children[0]
    parts = value.named_children if value.type == "expression_list" else [value]
    for part in parts:
        for dtype in ("float64", "float16"):
            text = f"{in_brackets(code, part)}.to(torch.{dtype})"
            yield Fault((replaced(part, text),), f"the output is {dtype}: {code.content(part)}")


def _others(dtype: str) -> tuple[str, ...]:
    return ("torch.int32",) if dtype == "torch.int64" else ("torch.float64", "torch.bfloat16")


OPERATOR = Operator("wrong-dtype", "another dtype comes out", faults)
