"""What an operator means, as expression trees over primitives; written in tables as short texts in Python's grammar."""

import ast
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Const:
    value: int | float


@dataclass(frozen=True)
class Var:
    """A parameter of the operator, or a name that an earlier Let has bound."""

    name: str


@dataclass(frozen=True)
class Apply:
    """A primitive (`primitives.PRIMITIVES`) or a fold over a row (`folds.FOLDS`) of arguments."""

    function: str
    arguments: tuple["Expr", ...]


Expr = Const | Var | Apply

_BINARY: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.BitAnd: "and", ast.BitOr: "or",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_UNARY: dict[type, str] = {ast.USub: "neg", ast.Invert: "not"}


@functools.cache
def parse(text: str) -> Expr:
    """The tree of a text such as "where(input > 0.0, input, input * negative_slope)". Raises ValueError for others."""
    return _read(ast.parse(text, mode="eval").body)


def _read(node: ast.expr) -> Expr:
    match node:
        case ast.Constant(value=int() | float() as value):
            return Const(value)
        case ast.Name(id="inf"):
            return Const(math.inf)
        case ast.Name(id=name):
            return Var(name)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return Apply(_UNARY[type(op)], (_read(operand),))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return Apply(_BINARY[type(op)], (_read(left), _read(right)))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _BINARY:
            return Apply(_BINARY[type(op)], (_read(left), _read(right)))
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]):
            return Apply(function, tuple(_read(argument) for argument in arguments))
    raise ValueError(f"not a meaning: {ast.unparse(node)}")


def applied(expr: Expr) -> Iterator[Apply]:
    """Every Apply in the expression, inner ones last."""
    if isinstance(expr, Apply):
        yield expr
        for argument in expr.arguments:
            yield from applied(argument)


def variables(expr: Expr) -> tuple[str, ...]:
    """The names that the expression reads, each once, in order."""
    if isinstance(expr, Var):
        return (expr.name,)
    found = (name for argument in getattr(expr, "arguments", ()) for name in variables(argument))
    return tuple(dict.fromkeys(found))
