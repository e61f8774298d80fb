"""The expression that made a node, and what it must be for any region with the node in it to be edited there."""

import ast
import functools

from kernelwright.place.instance import owner
from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import SourceMap
from kernelwright.values import CodeSpan, Node, Refusal

CONDITIONAL = (ast.IfExp, ast.BoolOp, ast.NamedExpr)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension, ast.Lambda, ast.GeneratorExp, ast.ListComp)


def own_expression(source: SourceMap, node: Node) -> ast.AST:
    """The expression that made the node, and ran once. Raises NotEditable."""
    tree = source.expression(node)
    if tree is None or node.where is None:
        raise NotEditable(f"The call that makes {node.op} does not stand in this file.", line_of(node))
    shared = source.nodes_at[node.where]
    if len(_runs(source, node.where)) > 1 or any(
        (n.op, n.module) == (node.op, node.module) for n in shared if n.id != node.id
    ):
        raise NotEditable(f"The expression of {node.op} runs more than once.", line_of(node))
    return tree


@functools.lru_cache(maxsize=512)
def _runs(source: SourceMap, where: CodeSpan) -> frozenset[str]:
    """The modules that ran the expression."""
    return frozenset(owner(source, n) or n.module for n in source.nodes_at[where])


def check_runs_always(source: SourceMap, node: Node, tree: ast.AST) -> None:
    """Raises NotEditable where the node's expression stands in a loop or a conditional expression of its function."""
    parent: ast.AST | None = tree
    while parent is not None and not isinstance(parent, ast.FunctionDef):
        if isinstance(parent, _LOOPS):
            raise NotEditable(f"{node.op} stands in a loop or comprehension.", line_of(node))
        if isinstance(parent, CONDITIONAL):
            raise NotEditable(f"{node.op} stands in a conditional expression.", line_of(node))
        parent = source.parents.get(parent)


def unplaceable(source: SourceMap, node: Node) -> Refusal | None:
    """Why no region with this node in it can be edited where the node stands; None where one may be."""
    try:
        check_runs_always(source, node, own_expression(source, node))
    except NotEditable as problem:
        return Refusal(str(problem), problem.line)
    return None


def line_of(node: Node) -> int | None:
    return node.where.start_line if node.where else None
