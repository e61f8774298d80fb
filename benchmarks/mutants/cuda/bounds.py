"""Mistakes with what is done at all: guards, tails, the bounds and steps of loops, and statements left out."""

from collections.abc import Iterator

from benchmarks.mutants.cuda.syntax import Code, became, dropped, in_brackets, in_head, operator_became
from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import field, sides
from tree_sitter import Node

_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": ">="}


def off_by_one_bound(code: Code) -> Iterator[Fault]:
    for node in code.on_device("binary_expression"):
        sign = sides(node)[1]
        if sign in _OTHER and not (sign == ">" and in_head(node)):
            yield operator_became(code, node, _OTHER[sign])


def dropped_guard(code: Code) -> Iterator[Fault]:
    for node in code.on_device("if_statement", "conditional_expression", "binary_expression"):
        if node.type == "binary_expression":
            left, sign, right = sides(node)
            if sign in ("&&", "||"):
                yield dropped(code, right, "true" if sign == "&&" else "false")
                yield dropped(code, left, "true" if sign == "&&" else "false")
        elif node.type == "conditional_expression":
            yield dropped(code, field(node, "condition"), "true")
        else:
            leaves = field(node, "consequence").type == "return_statement"
            yield dropped(code, field(node, "condition").named_children[0], "false" if leaves else "true")


def dropped_tail(code: Code) -> Iterator[Fault]:
    for node in code.on_device("if_statement"):
        if (other := node.child_by_field_name("alternative")) is not None:
            yield dropped(code, other, "")


def short_loop(code: Code) -> Iterator[Fault]:
    for node in code.on_device("for_statement"):
        condition, step = node.child_by_field_name("condition"), _step(code, node)
        if condition is None or condition.type != "binary_expression" or not step:
            continue
        _, sign, right = sides(condition)
        if sign == "<":
            yield became(code, right, f"{in_brackets(code, right)} - {step}")
        first = _first(node)
        if first is not None:
            yield became(code, first, f"{in_brackets(code, first)} + {step}")


def wrong_step(code: Code) -> Iterator[Fault]:
    for node in code.on_device("for_statement"):
        update = node.child_by_field_name("update")
        if update is None:
            continue
        if update.type == "update_expression":
            yield became(code, update, f"{code.content(field(update, 'argument'))} += 2")
        elif update.type == "assignment_expression":
            _, sign, right = sides(update)
            if sign == "+=":
                yield became(code, right, f"2 * {in_brackets(code, right)}")
                yield became(code, right, f"({in_brackets(code, right)} + 1) / 2")
            elif sign in (">>=", "<<="):
                yield became(code, right, f"{in_brackets(code, right)} + 1")


def dropped_statement(code: Code) -> Iterator[Fault]:
    for node in code.on_device("expression_statement"):
        inner = next(iter(node.named_children), None)
        if inner is not None and inner.type in ("assignment_expression", "update_expression"):
            yield dropped(code, node, ";")


def _step(code: Code, loop: Node) -> str:
    """What a loop's variable grows by in each turn; "" for anything else."""
    update = loop.child_by_field_name("update")
    if update is None:
        return ""
    if update.type == "update_expression" and "++" in code.content(update):
        return "1"
    if update.type == "assignment_expression" and sides(update)[1] == "+=":
        return in_brackets(code, field(update, "right"))
    return ""


def _first(loop: Node) -> Node | None:
    """The value that a loop's variable begins with."""
    made = loop.child_by_field_name("initializer")
    declared = made.child_by_field_name("declarator") if made is not None and made.type == "declaration" else None
    return declared.child_by_field_name("value") if declared is not None else None


OPERATORS = (
    Operator("off-by-one-bound", "a bound that is one too small or too large", off_by_one_bound),
    Operator("dropped-guard", "a guard, or part of one, left out", dropped_guard),
    Operator("dropped-tail", "an else left out: the end of a vectorised loop, or what is not aligned", dropped_tail),
    Operator("short-loop", "a loop that leaves out its first or last turn", short_loop),
    Operator("wrong-step", "a loop with another step", wrong_step),
    Operator("dropped-statement", "an assignment left out", dropped_statement),
)
