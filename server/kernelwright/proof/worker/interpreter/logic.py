"""`and`, `or` and `not` of tensors hold for each element, as compiled: Python's own would answer with one of the operands."""

import ast
from collections.abc import Callable
from typing import Any

import triton.language as tl
from triton.runtime import interpreter

_BOTH, _EITHER, _NOT = "_logical_and", "_logical_or", "_logical_not"


def install() -> None:
    """Let every rewritten kernel ask for the elements, and dtypes have the `value` that they have as constants."""
    before = type(interpreter.FunctionRewriter.ast_transformer)

    class Transformer(before):  # type: ignore[valid-type,misc]
        def visit_Assign(self, node: ast.Assign) -> Any:
            node.value = self.visit(node.value)
            return super().visit_Assign(node)

        def visit_BoolOp(self, node: ast.BoolOp) -> ast.Call:
            self.generic_visit(node)
            nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            operands: list[ast.expr] = [ast.Lambda(nothing, value) for value in node.values]
            return ast.Call(_name(_BOTH if isinstance(node.op, ast.And) else _EITHER), operands, [])

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
            self.generic_visit(node)
            return ast.Call(_name(_NOT), [node.operand], []) if isinstance(node.op, ast.Not) else node

    # The interpreter hands its own globals to the kernels that it rewrites.
    setattr(interpreter, _BOTH, lambda *operands: _folded(operands, "logical_and", ends=False))
    setattr(interpreter, _EITHER, lambda *operands: _folded(operands, "logical_or", ends=True))
    setattr(interpreter, _NOT, lambda value: value.__not__() if isinstance(value, tl.tensor) else not value)
    interpreter.FunctionRewriter.ast_transformer = Transformer()
    if not hasattr(tl.dtype, "value"):
        tl.dtype.value = property(lambda self: self)


def _folded(operands: tuple[Callable[[], Any], ...], method: str, *, ends: bool) -> Any:
    """As the compiler does: a constant may end it, or has no part in it; tensors are computed with one another."""
    tensors: list[Any] = []
    value: Any = None
    for operand in operands:
        value = operand()
        if isinstance(value, tl.tensor):
            tensors.append(value)
        elif bool(value) is ends:
            return value
    if not tensors:
        return value
    found = tensors[0]
    for other in tensors[1:]:
        found = getattr(found, method)(other)
    return found


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
