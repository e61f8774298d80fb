"""A softmax that does not subtract the maximum before the exponential."""

import ast
from collections.abc import Iterator

from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.scope import Scope
from kernelwright.source.findings.triton import TritonUnit
from kernelwright.source.trees import operator
from kernelwright.values import Language

_EXPONENTIALS = ("exp", "exp2")


def check(unit: TritonUnit) -> Iterator[Problem]:
    softmax = _Softmax(unit.scope)
    said: set[ast.AST] = set()
    for node in unit.nodes:
        if not (isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div)):
            continue
        above, below = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        exponentials = softmax.unbounded(above)
        if exponentials and softmax.sums_exponentials(below):
            first = min(exponentials, key=lambda n: (n.lineno, n.col_offset))
            if first not in said:
                said.add(first)
                yield Problem(
                    first, "This softmax overflows for large values: subtract the row's maximum before the exponential."
                )


class _Softmax:
    """What the rule asks of values, each answered once."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._bounded: dict[ast.expr, bool] = {}
        self._sums: dict[ast.Call, bool] = {}

    def unbounded(self, node: ast.expr) -> list[ast.Call]:
        """The exponentials in a value whose argument has nothing subtracted, negated or limited."""
        scope = self._scope
        return [
            part
            for part in scope.walk(node, into=lambda n: scope.tl(n) not in ("load", "sum", *_EXPONENTIALS))
            if isinstance(part, ast.Call) and scope.tl(part) in _EXPONENTIALS
            if part.args and not self._is_bounded(part.args[0])
        ]

    def sums_exponentials(self, node: ast.expr) -> bool:
        scope = self._scope
        calls = (
            n for n in scope.walk(node, into=lambda n: scope.tl(n) != "load") if isinstance(n, ast.Call) and n.args
        )
        return any(self._is_of_exponentials(one) for one in calls if scope.tl(one) == "sum")

    def _is_of_exponentials(self, total: ast.Call) -> bool:
        if total not in self._sums:
            self._sums[total] = bool(self.unbounded(total.args[0]))
        return self._sums[total]

    def _is_bounded(self, argument: ast.expr) -> bool:
        scope = self._scope
        if argument not in self._bounded:
            self._bounded[argument] = any(
                isinstance(operator(part), ast.Sub | ast.USub)
                or scope.tl(part) in ("minimum", "clamp", "where", "max", "log", "log2")
                for part in scope.walk(argument, into=lambda n: scope.tl(n) != "load")
            )
        return self._bounded[argument]


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
