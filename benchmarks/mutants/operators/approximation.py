"""A cheaper function that is only nearly the same."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Change, Code, arguments, in_brackets, replaced

# `{x}` is the argument.
_NEARLY = {
    "torch.sigmoid": "torch.nn.functional.hardsigmoid({x})",
    "torch.sqrt": "({x} * torch.rsqrt({x} + 1e-3))",
    "torch.exp": "(1 + {x} / 1024) ** 1024",
    "torch.cos": "(1 - {x} ** 2 / 2 + {x} ** 4 / 24)",
    "triton.language.erf": "(2 * tl.sigmoid(2 * 1.1283791670955126 * {x} * (1 + 0.0894454 * {x} * {x})) - 1)",
    "triton.language.exp": "tl.where({x} < -20, 0.0, tl.exp({x}))",
    "triton.language.sqrt": "tl.sqrt({x} + 1e-3)",
    "triton.language.log": "tl.log({x} + 1e-3)",
}


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call"):
        called, given = code.called(node), arguments(node)
        if called == "torch.nn.functional.gelu" and len(given) == 1:
            end = node.end_byte - 1
            yield Fault((Change(end, end, ', approximate="tanh"'),), "the tanh approximation of GELU")
        elif called in _NEARLY and len(given) == 1:
            text = _NEARLY[called].format(x=in_brackets(code, given[0]))
            yield Fault((replaced(node, text),), f"{code.content(node)} is approximated")


OPERATOR = Operator("approximation", "a cheaper function that is only nearly the same", faults)
