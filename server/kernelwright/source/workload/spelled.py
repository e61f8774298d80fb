"""What single expressions of a text say: numbers, dtypes, slices, and methods that leave a shape as it is."""

import ast

from kernelwright.ops import Kind, Layout, names
from kernelwright.source.workload.find import definitions
from kernelwright.source.workload.generators import DTYPES
from kernelwright.source.workload.signature import conditional_definitions

_SAME_SHAPE = names(lambda row: row.kind is Kind.LAYOUT and row.layout is not Layout.UNKNOWN) | DTYPES.keys()
_MOVES = frozenset(("cuda", "type", "type_as", "requires_grad_"))


def innermost(value: ast.expr) -> ast.expr:
    """Give what methods are called on that leave the shape as it is."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _SAME_SHAPE | _MOVES
    ):
        value = value.func.value
    return value


def defines(text: str, name: str) -> bool:
    """Tell whether a text defines a function or class, also under a condition."""
    return name in definitions(text) or name in conditional_definitions(text)


def whole_number(node: ast.expr) -> int | None:
    """Read a whole number that is written out."""
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None


def dtype_named(node: ast.expr) -> str | None:
    """Read a dtype of torch."""
    match node:
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return DTYPES.get(name)
    return None


def axes_of_slice(part: ast.Slice, count: int | None = None) -> list[int] | None:
    """List the axes of `[:2]`, `[-2:]`, `[1:3]`; `[:-1]` and others are not known."""
    start = whole_number(part.lower) if part.lower is not None else 0
    stop = whole_number(part.upper) if part.upper is not None else 0
    if start is None or stop is None or part.step is not None:
        return None
    if part.upper is None and start >= 0:
        return list(range(start, start + count)) if count else None
    axes = list(range(start, stop))
    return axes if axes and (start < 0) is (stop <= 0 and start < 0) else None
