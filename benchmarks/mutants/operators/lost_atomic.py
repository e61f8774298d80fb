"""A plain store where several programs add to the same place."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, field, keywords, replaced


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call"):
        if code.called(node) != "triton.language.atomic_add":
            continue
        attribute = field(field(node, "function"), "attribute")
        yield Fault((replaced(attribute, "store"),), "a store in place of an atomic addition")
        place, value = (code.content(argument) for argument in arguments(node)[:2])
        mask = keywords(code, node).get("mask")
        read = f"tl.load({place}, {code.content(mask)})" if mask is not None else f"tl.load({place})"
        summed = f"{read} + {value}"
        changes = (replaced(attribute, "store"), replaced(arguments(node)[1], summed))
        yield Fault(changes, "a load and a store in place of an atomic addition")


OPERATOR = Operator("lost-atomic", "a plain store where several programs add", faults)
