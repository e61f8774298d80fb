"""A mask that is left out, whole or one of its conditions; in PyTorch a masked_fill or a where."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, field, in_brackets, keywords, replaced, sides, without

_WHERE = ("triton.language.where", "torch.where")
_ACCESSES = tuple(f"triton.language.{name}" for name in ("load", "store", "atomic_add", "atomic_max", "atomic_min"))


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call", "binary_operator"):
        if node.type == "binary_operator":
            left, sign, right = sides(node)
            if sign == "&" and "comparison_operator" in _kinds(left, right):
                yield _kept(code, node, left, f"condition dropped: {code.content(right)}")
                yield _kept(code, node, right, f"condition dropped: {code.content(left)}")
            continue
        called, given = code.called(node), keywords(code, node)
        if called in _ACCESSES and "mask" in given:
            # `other` is refused without a mask.
            gone = tuple(without(code, given[name]) for name in ("mask", "other") if name in given)
            yield Fault(gone, f"dropped: {code.content(given['mask'])}")
        elif called in _WHERE and len(arguments(node)) == 3:
            condition, yes, no = arguments(node)
            yield _kept(code, node, yes, f"condition taken as true: {code.content(condition)}")
            yield _kept(code, node, no, f"condition taken as false: {code.content(condition)}")
        elif called == ".masked_fill":
            yield _kept(code, node, field(field(node, "function"), "object"), "masked_fill dropped")


def _kinds(*nodes) -> set[str]:
    inner = [child for node in nodes if node.type == "parenthesized_expression" for child in node.named_children]
    return {node.type for node in (*nodes, *inner)}


def _kept(code: Code, node, part, description: str) -> Fault:
    return Fault((replaced(node, in_brackets(code, part)),), description)


OPERATOR = Operator("dropped-mask", "a mask or one of its conditions left out", faults)
