"""Functions that work on each element of their arguments by itself: Triton's own, and those of the file that use no others."""

import ast
import functools
import re

from kernelwright.source.bindings import nodes_of
from kernelwright.source.calls import constexprs
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import TL, Reading, canonical, decorators

_OWN = frozenset((
    "abs", "cast", "cdiv", "ceil", "clamp", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2",
    "maximum", "minimum", "rand", "randn", "rsqrt", "sigmoid", "sin", "sqrt", "sqrt_rn", "umulhi", "where",
))  # fmt: skip
_PARTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If, ast.Expr, ast.Pass, ast.Constant, ast.Name, ast.Attribute,
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Tuple, ast.Call, ast.keyword, ast.operator, ast.unaryop,
    ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip
_ATTRIBUTES = ("to", "dtype", "element_ty", "type")
_DEEPEST = 4  # functions that call each other


def is_elementwise(name: str) -> bool:
    """Whether it is the canonical name of a function of Triton that works on each element by itself."""
    if not name.startswith(TL):
        return False
    short = name.removeprefix(TL)
    return short.removeprefix("math.") in _OWN or short.startswith("extra.")


def works_by_element(reading: Reading, call: ast.Call, depth: int = _DEEPEST) -> bool:
    """Whether it calls a function of the kernel's file that touches no memory and works on each element by itself."""
    if not isinstance(call.func, ast.Name) or reading.canonical(call) or not depth:
        return False
    function = _defined(reading.text, call.func.id)
    return function is not None and _by_element(Reading(function, reading.aliases, text=reading.text), depth)


@functools.lru_cache(maxsize=256)
def _defined(text: str, name: str) -> ast.FunctionDef | None:
    """The function at the top level of a file, where it has one of that name that parses."""
    found = list(re.finditer(rf"^(?:@[^\n]*\n)*def {re.escape(name)}\(", text, re.MULTILINE))
    if len(found) != 1:
        return None
    end = re.compile(r"^[^\s)#]", re.MULTILINE).search(text, found[0].end())
    try:
        (node,) = ast.parse(text[found[0].start() : end.start() if end else len(text)]).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def _by_element(reading: Reading, depth: int) -> bool:
    function = reading.function
    if "triton.jit" not in [name for name, _ in decorators(function, reading.aliases)]:
        return False
    return all(_is_plain(node, reading, depth) for node in nodes_of(function))


def _is_plain(node: ast.AST, reading: Reading, depth: int) -> bool:
    match node:
        case ast.BinOp(op=ast.MatMult()):
            return False
        case ast.If(test=test) | ast.IfExp(test=test):
            return _is_known(test, reading)
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return _is_known(node, reading)
        case ast.Attribute(attr=attr):
            return attr in _ATTRIBUTES or bool(canonical(node, reading.aliases))
        case ast.Call(func=ast.Attribute(attr="to")) if not canonical(node, reading.aliases):
            return True
        case ast.Call():
            return is_elementwise(canonical(node, reading.aliases)) or works_by_element(reading, node, depth - 1)
    return isinstance(node, _PARTS)


def _is_known(test: ast.expr, reading: Reading) -> bool:
    """Whether a condition is told when the kernel is compiled: by constants and the types of values."""
    types = {
        part for node in walk(test) if isinstance(node, ast.Attribute) and node.attr == "dtype" for part in walk(node)
    }
    names = {node.id for node in walk(test) if isinstance(node, ast.Name) and node not in types}
    modules = {name for name in names if reading.aliases.canonical(name)}
    return names - modules <= set(constexprs(reading.function))
