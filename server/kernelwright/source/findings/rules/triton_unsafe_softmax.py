"""A softmax that does not subtract the maximum before the exponential."""

import ast
from collections.abc import Iterator

from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.scope import Scope
from kernelwright.source.findings.triton import TritonUnit
from kernelwright.values import Language

_EXPONENTIALS = ("exp", "exp2")


def check(unit: TritonUnit) -> Iterator[Problem]:
    scope = unit.scope
    said: set[ast.AST] = set()
    for node in unit.nodes:
        if not (isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div)):
            continue
        above, below = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        exponentials = _unbounded(scope, above)
        if exponentials and _sums_exponentials(scope, below):
            first = min(exponentials, key=lambda n: (n.lineno, n.col_offset))
            if first not in said:
                said.add(first)
                yield Problem(
                    first, "This softmax overflows for large values: subtract the row's maximum before the exponential."
                )


def _unbounded(scope: Scope, node: ast.expr) -> list[ast.Call]:
    """The exponentials in a value whose argument has nothing subtracted, negated or limited."""
    return [
        part
        for part in scope.walk(node, lambda n: scope.tl(n) not in ("load", "sum", *_EXPONENTIALS))
        if scope.tl(part) in _EXPONENTIALS and part.args and not _is_bounded(scope, part.args[0])
    ]


def _is_bounded(scope: Scope, argument: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Sub | ast.USub) or scope.tl(part) in ("minimum", "clamp", "where", "max", "log", "log2")
        for part in scope.walk(argument, lambda n: scope.tl(n) != "load")
    )


def _sums_exponentials(scope: Scope, node: ast.expr) -> bool:
    sums = (n for n in scope.walk(node, lambda n: scope.tl(n) != "load") if scope.tl(n) == "sum" and n.args)
    return any(_unbounded(scope, s.args[0]) for s in sums)


RULE = Rule(
    code="triton.unsafe-softmax",
    language=Language.TRITON,
    severity=Severity.WARNING,
    title="Softmax without subtracting the maximum",
    doc="""`exp(x)` overflows in float32 from 88.8 on (in float16 from 11.1), and then the quotient is nan. `exp(x -
max(x))` gives the same softmax and never overflows.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x)
    tl.store(y_ptr + tl.program_id(0) * n + cols, e / tl.sum(e, axis=0), mask=cols < n)
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + tl.program_id(0) * n + cols, e / tl.sum(e, axis=0), mask=cols < n)
""",
    check=check,
)
