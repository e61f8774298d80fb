"""A loop that ends one step early or after its first step, and a result that is not computed for some inputs."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Change, Code, Function, arguments, field, in_brackets, replaced
from tree_sitter import Node

# What a hasty "fast path" tests for; `x` is the first argument.
_CONDITIONS = {
    "there is one row": "{x}.shape[0] == 1",
    "nothing is negative": "bool(({x} >= 0).all())",
    "a value is above 10000": "bool(({x} > 10000).any())",
}


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call"):
        given = arguments(node)
        if code.called(node) in ("range", "triton.language.range") and len(given) == 3:
            start, stop, step = (in_brackets(code, argument) for argument in given)
            yield Fault((replaced(given[1], f"{stop} - {step}"),), "the last step of the loop is left out")
            yield Fault((replaced(given[1], f"{start} + {step}"),), "only the first step of the loop is taken")
    for function in code.functions:
        if function.jit:
            yield _last_program(function)
        elif function.computes and function.parameters:
            yield from _fast_paths(code, function)


def _last_program(function: Function) -> Fault:
    start = field(function.node, "body").start_byte
    test = f"if tl.program_id(0) == tl.num_programs(0) - 1:\n{function.indent}    return\n{function.indent}"
    return Fault((Change(start, start, test),), "the last program returns at once")


def _fast_paths(code: Code, function: Function) -> Iterator[Fault]:
    last = field(function.node, "body").named_children[-1]
    if last.type != "return_statement" or not last.named_children:
        return
    for words, condition in _CONDITIONS.items():
        test = condition.format(x=function.parameters[0])
        yield Fault((replaced(last, _zeros_if(code, last, test, function.indent)),), f"zeros when {words}")


def _zeros_if(code: Code, statement: Node, test: str, indent: str) -> str:
    """The statement's first result becomes zeros where `test` holds."""
    value = statement.named_children[0]
    several = value.type == "expression_list"
    first = value.named_children[0] if several else value
    rest = "".join(f", {code.content(part)}" for part in value.named_children[1:]) if several else ""
    return f"result = {code.content(first)}\n{indent}return (result * 0 if {test} else result){rest}"


OPERATOR = Operator("early-exit", "a loop cut short, or a result not computed for some inputs", faults)
