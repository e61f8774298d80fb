"""What stands around the expressions of a region: loops that run them again, conditions under which they run."""

import ast
from collections.abc import Iterable

from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Node

CONDITIONAL = (ast.IfExp, ast.BoolOp, ast.NamedExpr)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension, ast.Lambda, ast.GeneratorExp, ast.ListComp)


def check_loops(source: SourceMap, node: Node, tree: ast.AST) -> None:
    """Raises where the expression stands in a loop of which the graph holds more than one iteration."""
    parent: ast.AST | None = tree
    while parent is not None and parent is not source.loop and not isinstance(parent, ast.FunctionDef):
        if isinstance(parent, _LOOPS):
            raise NotEditable(f"{node.op} stands in a loop or comprehension.", line_of(node))
        parent = source.parents.get(parent)


def conditional_part(source: SourceMap, found: Iterable[tuple[Node, ast.AST]]) -> ast.AST | None:
    """The part of a conditional expression in which all of these expressions stand; None where none stands in any.

    Raises NotEditable where they stand in several: they do not run together in every call.
    """
    pairs = list(found)
    parts = {_part(source, tree) for _, tree in pairs}
    if len(parts) > 1:
        node = next(node for node, tree in pairs if _part(source, tree) is not None)
        raise NotEditable(f"{node.op} stands in a conditional expression.", line_of(node))
    return parts.pop()


def _part(source: SourceMap, tree: ast.AST) -> ast.AST | None:
    """The part of the innermost conditional expression in which a tree stands."""
    child, parent = tree, source.parents.get(tree)
    while parent is not None and not isinstance(parent, ast.stmt):
        if isinstance(parent, CONDITIONAL):
            return child
        child, parent = parent, source.parents.get(parent)
    return None


def line_of(node: Node) -> int | None:
    return node.where.start_line if node.where else None
