"""Mistakes in what is computed: signs, terms, constants, sums that are not carried on, and lost digits."""

from collections.abc import Iterator

from benchmarks.mutants.cuda.syntax import Code, became, called, in_brackets, in_head, operator_became
from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import field, replaced, sides

_OTHER_SIGN = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "+=": "-=", "*=": "/=", "^=": "="}
_OTHER_EXTREME = {"fmaxf": "fminf", "fminf": "fmaxf", "max": "min", "min": "max", "fmax": "fmin", "fmin": "fmax"}
_SUFFIXES = "uUlL"
_FLOAT_LITERALS = ("0.0f", "0.0", "0.f", "0.")


def wrong_sign(code: Code) -> Iterator[Fault]:
    for node in code.on_device("binary_expression", "assignment_expression"):
        sign = sides(node)[1]
        if sign in _OTHER_SIGN and not in_head(node):
            yield operator_became(code, node, _OTHER_SIGN[sign])


def dropped_term(code: Code) -> Iterator[Fault]:
    for node in code.on_device("binary_expression"):
        left, sign, right = sides(node)
        if sign not in ("+", "-", "*", "/", "%"):
            continue
        yield Fault((replaced(node, code.content(left)),), f"dropped: {sign} {code.content(right)}")
        if sign in ("+", "*"):
            yield Fault((replaced(node, in_brackets(code, right)),), f"dropped: {code.content(left)} {sign}")


def swapped_operands(code: Code) -> Iterator[Fault]:
    for node in code.on_device("binary_expression"):
        left, sign, right = sides(node)
        if sign in ("-", "/"):
            yield became(code, node, f"{in_brackets(code, right)} {sign} {in_brackets(code, left)}")


def lost_sum(code: Code) -> Iterator[Fault]:
    for node in code.on_device("assignment_expression"):
        sign = sides(node)[1]
        if len(sign) == 2 and sign.endswith("=") and not in_head(node):
            yield operator_became(code, node, "=")


def wrong_constant(code: Code) -> Iterator[Fault]:
    for node in code.on_device("number_literal", "identifier"):
        text = code.content(node)
        if text == "INFINITY":
            yield became(code, node, "1.0f")
        elif node.type == "identifier" or text.startswith("0x"):
            continue
        elif text.endswith("f") or "." in text:
            yield became(code, node, "1.0f" if text in _FLOAT_LITERALS else f"(1.02f * {text})")
        else:
            yield became(code, node, str(int(text.rstrip(_SUFFIXES)) + 1))


def wrong_extreme(code: Code) -> Iterator[Fault]:
    for node in code.on_device("call_expression"):
        if (name := called(code, node)) in _OTHER_EXTREME:
            yield became(code, field(node, "function"), _OTHER_EXTREME[name])


def lower_precision(code: Code) -> Iterator[Fault]:
    floats = code.floats()
    for node in code.on_device("assignment_expression"):
        left, sign, right = sides(node)
        while left.type == "subscript_expression":
            left = field(left, "argument")
        if sign in ("=", "+=") and code.content(left) in floats and right.type != "number_literal":
            yield Fault(
                (replaced(right, f"__half2float(__float2half({code.content(right)}))"),),
                f"rounded to half: {code.content(right)}",
            )


OPERATORS = (
    Operator("wrong-sign", "another operator", wrong_sign),
    Operator("dropped-term", "a term or factor left out", dropped_term),
    Operator("swapped-operands", "the operands of a difference or quotient the other way round", swapped_operands),
    Operator("lost-sum", "a sum that forgets what came before", lost_sum),
    Operator("wrong-constant", "another number: where a sum begins, what fills a tile, a size", wrong_constant),
    Operator("wrong-extreme", "the least in place of the largest", wrong_extreme),
    Operator("lower-precision", "digits lost on the way", lower_precision),
)
