"""Double precision that nobody asked for, in code that works on floats."""

import re
import struct
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda.text import field, walk
from kernelwright.source.findings.cuda import CudaChange, CudaProblem, CudaUnit
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_LITERAL = re.compile(r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?$|\d+[eE][+-]?\d+$")
_CONSTANT = re.compile(r"M_(?:PI(?:_[24])?|[12]_PI|2_SQRTPI|SQRT2|SQRT1_2|E|LOG2E|LOG10E|LN2|LN10)$")
_DOUBLE = re.compile(r"\bdouble[234]?\b|\bf64\b")
_ARITHMETIC = frozenset("+-*/")
_COMPARED = frozenset(("<", ">", "<=", ">=", "==", "!="))
_HELD = ("identifier", "subscript_expression", "field_expression", "call_expression", "pointer_expression")


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    text = unit.content(unit.function.outer)
    if _DOUBLE.search(text) or "float" not in text or any(kind == "double" for kind in unit.types.values()):
        return
    for node in unit.flow.of_type("number_literal", "identifier"):
        written = unit.content(node)
        if node.type == "number_literal" and _LITERAL.match(written) and _widens(unit, node, float(written)):
            yield CudaProblem(
                node,
                f"{written} is a double, so this is worked out in double precision, many times slower: write {written}f.",
                fix=f"Write {written}f",
                changes=(CudaChange(node, f"{written}f"),),
            )
        elif node.type == "identifier" and _CONSTANT.match(written) and _widens(unit, node, 0.1):
            yield CudaProblem(
                node,
                f"{written} is a double, so this is worked out in double precision, many times slower: cast it to float.",
                fix=f"Write (float){written}",
                changes=(CudaChange(node, f"(float){written}"),),
            )
    for call in unit.flow.of_type("call_expression"):
        yield from _power(unit, call)


def _power(unit: CudaUnit, call: Node) -> Iterator[CudaProblem]:
    """`pow(x, 2)` takes doubles, unlike `exp(x)`, which is that of floats for a float."""
    callee, arguments = field(call, "function"), field(call, "arguments")
    if callee is None or arguments is None or unit.content(callee) != "pow" or arguments.named_child_count != 2:
        return
    power = unit.content(arguments.named_children[1])
    if re.fullmatch(r"-?\d+(?:\.\d*)?", power):
        yield CudaProblem(
            callee,
            f"pow of a float and {power} is worked out in double precision, many times slower: use powf, or multiply.",
            fix="Use powf",
            changes=(CudaChange(callee, "powf"),),
        )


def _widens(unit: CudaUnit, node: Node, value: float) -> bool:
    """Whether a double meets what is no constant, in an operation that the compiler may not narrow again.

    One product or sum with a value that a float holds too, stored as a float, has the same result in both.
    """
    child, above = node, node.parent
    while above is not None and (
        above.type == "parenthesized_expression" or (above.type == "unary_expression" and above.named_child_count == 1)
    ):
        child, above = above, above.parent
    sign = field(above, "operator")
    symbol = unit.content(sign) if sign is not None else ""
    if above is None or above.type not in ("binary_expression", "assignment_expression"):
        return False
    other = field(above, "right" if field(above, "left") == child else "left")
    if other is None or not any(one.type in _HELD for one in walk(other)):
        return False
    if symbol in _COMPARED:
        return not _fits(value)
    if above.type == "assignment_expression":
        return symbol in ("+=", "-=", "*=", "/=") and not _fits(value)
    if symbol not in _ARITHMETIC:
        return False
    return not _fits(value) or _goes_on(unit, above)


def _goes_on(unit: CudaUnit, operation: Node) -> bool:
    """Whether the result of an operation is used by another one before it becomes a float."""
    above = operation.parent
    while above is not None and above.type == "parenthesized_expression":
        above = above.parent
    sign = field(above, "operator")
    if above is None or sign is None:
        return False
    symbol = unit.content(sign)
    return (above.type == "binary_expression" and symbol in _ARITHMETIC) or (
        above.type == "assignment_expression" and symbol != "="
    )


def _fits(value: float) -> bool:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0]) == value
    except OverflowError:
        return False


RULE = Rule(
    code="cuda.double-precision",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Double precision in float code",
    doc="""In C++ `1.0` is a double, and an operation of a float and a double is one of doubles: the float is widened, and the
result is narrowed again. Data-centre GPUs do half as many of these as of floats, consumer cards 1/64. Write `1.0f`.
`exp(x)` of a float is that of floats already, but `pow(x, 2)` is one of doubles. Not said where the function mentions `double`,
nor of a single product with a number such as `0.5`, which the compiler narrows itself.""",
    example_wrong="""
__global__ void sigmoid(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0 / (1.0 + expf(-x[i]));
}
""",
    example_right="""
__global__ void sigmoid(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f / (1.0f + expf(-x[i]));
}
""",
    check=check,
)
