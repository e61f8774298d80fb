"""A stage that is skipped: a statement that works on a value in place of itself, or a function around it."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, field, in_brackets, replaced

_POINTWISE = ("exp", "log", "sqrt", "rsqrt", "erf", "relu", "gelu", "sigmoid", "round", "cos", "sin", "softmax", "abs")
_POINTWISE += ("log_softmax", "clamp", "tanh", "silu")


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("assignment", "call", "unary_operator"):
        text = code.content(node)
        if node.type == "unary_operator":
            of_value = node.named_children[0].type not in ("integer", "float") and "inf" not in text
            if text.startswith("-") and of_value:
                yield Fault((replaced(node, text[1:]),), f"sign dropped: {text}")
            continue
        if node.type == "assignment":
            left, right = code.content(field(node, "left")), node.child_by_field_name("right")
            if right is None or right.type not in ("call", "binary_operator") or code.called(right) == ".contiguous":
                continue  # what only lays memory out is another operator's business
            if left in [code.content(child) for child in _leaves(right)]:
                yield Fault((replaced(node, "pass"),), f"skipped: {text}")
            continue
        package, _, name = code.called(node).rpartition(".")
        if name not in _POINTWISE:
            continue
        whole = arguments(node)[0] if package else field(field(node, "function"), "object")
        yield Fault((replaced(node, in_brackets(code, whole)),), f"skipped: {name} of {code.content(whole)}")


def _leaves(node):
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type == "identifier":
            yield current
        stack += current.named_children


OPERATOR = Operator("dropped-stage", "a stage that is skipped", faults)
