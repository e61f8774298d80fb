"""The expression that made a node, and what it must be for any region with the node in it to be edited there."""

import ast
import functools

from kernelwright.place.around import check_loops, line_of
from kernelwright.place.instance import owner
from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import SourceMap
from kernelwright.values import CodeSpan, Node, Refusal


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
    owners = ((owner(source, n), n) for n in source.nodes_at[where])
    return frozenset(n.module if held is None else held for held, n in owners)


def unplaceable(source: SourceMap, node: Node) -> Refusal | None:
    """Why no region with this node in it can be edited where the node stands; None where one may be."""
    try:
        check_loops(source, node, own_expression(source, node))
    except NotEditable as problem:
        return Refusal(str(problem), problem.line)
    return None
