"""Another axis: of a reduction, of a program's number, of a shape; a transposition left out."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, field, in_brackets, keywords, replaced
from tree_sitter import Node

_OTHER = {"0": "1", "1": "0", "2": "1", "-1": "-2", "-2": "-1"}
_REDUCTIONS = ("sum", "mean", "var", "std", "amax", "amin", "max", "min", "argmax", "argmin", "softmax", "log_softmax")
_REDUCTIONS += ("logsumexp", "cumsum", "any", "all", "norm", "gather", "unsqueeze", "squeeze", "size")
_TRANSPOSITIONS = (".transpose", ".t", ".permute", "triton.language.trans", "torch.transpose")


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call", "subscript"):
        if node.type == "subscript":
            index = node.child_by_field_name("subscript")
            if code.content(field(node, "value")).endswith(".shape") and index is not None:
                yield from _turned(code, index, "size of another axis")
            continue
        called = code.called(node)
        if called == "triton.language.program_id":
            yield from _turned(code, arguments(node)[0], "program of another axis")
        elif called in _TRANSPOSITIONS:
            of_method = called.startswith(".")
            whole = field(field(node, "function"), "object") if of_method else arguments(node)[0]
            yield Fault((replaced(node, in_brackets(code, whole)),), f"transposition dropped: {code.content(node)}")
        else:
            axis = _axis(code, node, called)
            if axis is not None:
                yield from _turned(code, axis, "another axis")


def _axis(code: Code, call: Node, called: str) -> Node | None:
    given = keywords(code, call)
    for name in ("dim", "axis"):
        if name in given:
            return field(given[name], "value")
    place = 0 if called.startswith(".") else 1
    listed = arguments(call)
    if called.rpartition(".")[2] in _REDUCTIONS and len(listed) > place:
        return listed[place]
    return None


def _turned(code: Code, node: Node, what: str) -> Iterator[Fault]:
    other = _OTHER.get(code.content(node))
    if other is not None:
        yield Fault((replaced(node, other),), f"{what}: {code.content(node)} became {other}")


OPERATOR = Operator("wrong-axis", "another axis than the right one", faults)
