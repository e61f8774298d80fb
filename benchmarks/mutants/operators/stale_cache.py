"""The first result is kept and returned again: for every input of the shape, or at the address, of the first one."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Change, Code, field, replaced

_KEYS = {
    "shape": "({x}.shape, {x}.dtype)",
    "address and shape": "({x}.data_ptr(), {x}.shape)",
    "address, version and shape": "({x}.data_ptr(), {x}._version, {x}.shape)",
}


def faults(code: Code) -> Iterator[Fault]:
    for function in code.functions:
        last = field(function.node, "body").named_children[-1]
        if not function.computes or not function.parameters or last.type != "return_statement":
            continue
        value = last.named_children[0]
        text = code.content(value) if value.type != "expression_list" else f"({code.content(value)})"
        definition = function.node
        while definition.parent is not None and definition.parent.parent is not None:
            definition = definition.parent
        for words, key in _KEYS.items():
            kept = f"KEPT.setdefault({key.format(x=function.parameters[0])}, {text})"
            made = Change(definition.start_byte, definition.start_byte, "KEPT = {}\n\n\n")
            yield Fault((made, replaced(value, kept)), f"the first result for each {words} is kept")


OPERATOR = Operator("stale-cache", "the first result is kept and returned again", faults)
