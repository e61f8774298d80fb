"""The numbers of a region as the source writes them, and what must hold in evaluation mode."""

import ast
from collections.abc import Mapping

from kernelwright.ops import row, signature
from kernelwright.place.source_env import NotEditable, environment, made_by, nodes_in
from kernelwright.place.source_map import (
    SourceMap,
    attribute_path,
    attribute_text,
    is_module_call,
    loaded_names,
    module_path,
    operands,
)
from kernelwright.source.trees import walk
from kernelwright.values import Node

_SWITCHES = {"dropout": ("training", "p"), "batch_norm": ("training",)}
"""The options that decide whether an operator acts as in training."""


def collect_scalars(
    source: SourceMap, inside: list[Node], trees: Mapping[int, ast.AST], sink: ast.stmt, function: ast.FunctionDef
) -> dict[tuple[int, str], str]:
    """(node id, parameter) to the expression of each number that is not a literal, as it can stand in the sink.

    Raises NotEditable where a name in it changes in between.
    """
    scalars: dict[tuple[int, str], str] = {}
    start = min(source.statement(tree).lineno for tree in trees.values())
    assigned: dict[str, list[int]] = {}
    for n in walk(function):
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            assigned.setdefault(n.id, []).append(n.lineno)
    for node in inside:
        tree = trees[node.id]
        if isinstance(tree, ast.Call) and is_module_call(node, tree):
            scalars |= _module_scalars(node, tree)
            continue
        env = environment(source, function, set(), source.statement(tree))
        numbers = _numbers(node) - set(_SWITCHES.get(node.op, ()))
        for parameter, expression in operands(source, node, tree, env).items():
            if parameter not in numbers:
                continue
            if made_by(source, expression) is not None or source.value_of(expression, env) is not None:
                continue
            if _is_constant(expression) or list(nodes_in(source, expression)):
                continue
            unstable = [
                name
                for name in loaded_names(expression)
                if any(start <= line < sink.lineno for line in assigned.get(name, ()))
            ]
            if unstable:
                raise NotEditable(f"`{unstable[0]}` changes before the new call.", source.span(tree).start_line)
            scalars[node.id, parameter] = source.segment(expression)
    return scalars


def mode_conditions(source: SourceMap, inside: list[Node], trees: Mapping[int, ast.AST]) -> tuple[str, ...]:
    """Dropout and batch norm mean something else in training: what holds in the mode that was captured.

    Raises NotEditable where it is more than attributes of modules.
    """
    conditions: list[str] = []
    for node in inside:
        if node.op not in _SWITCHES:
            continue
        acts = _acts(source, node, trees[node.id])
        trains = node.op == "batch_norm" and node.kwargs.get("training")
        if not acts or (trains and node.args[1] is None):
            continue  # without running statistics evaluation does the same
        conditions.append(acts if trains else f"not ({acts})" if " " in acts else f"not {acts}")
    return tuple(dict.fromkeys(conditions))


def _acts(source: SourceMap, node: Node, tree: ast.AST) -> str:
    """The condition under which dropout or batch norm act as in training; "" where the text says once and for all.

    Raises NotEditable where it is more than attributes of modules.
    """
    options = _SWITCHES[node.op]
    if isinstance(tree, ast.Call) and is_module_call(node, tree):
        return " and ".join(f"{source.segment(tree.func)}.{option}" for option in options)
    given = operands(source, node, tree, {})
    written = [given[option] for option in options if option in given]
    fixed = [part for part in written if isinstance(part, ast.Constant)]
    if any(not part.value for part in fixed):
        return ""
    parts = [part for part in written if part not in fixed]
    if any(attribute_path(part) is None for part in parts):
        line = node.where.start_line if node.where is not None else None
        raise NotEditable(f"{node.op} may act differently in training mode.", line)
    return " and ".join(source.segment(part) for part in parts)


def _module_scalars(node: Node, call: ast.Call) -> dict[tuple[int, str], str]:
    """Numbers that a submodule keeps as attributes stay its attributes: `self.act.negative_slope`."""
    path = attribute_text(module_path(call.func) or "")
    return {(node.id, parameter): f"{path}.{parameter}" for parameter in row(node.op).attributes.split()}


def _numbers(node: Node) -> set[str]:
    """The parameters of the node that were given a number."""
    names = [name for name, _ in (signature(node.op) or ((), 0))[0]]
    given = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    return {name for name, value in given.items() if isinstance(value, int | float) and not isinstance(value, bool)}


def _is_constant(tree: ast.expr) -> bool:
    """A literal, or arithmetic and `math.` calls of literals."""
    names = loaded_names(tree)
    return names <= {"math", "float", "int"}
