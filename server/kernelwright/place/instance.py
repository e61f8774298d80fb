"""Which modules ran the code of a class: the paths of its instances, and the nodes that each made there."""

import ast
import functools
from collections.abc import Mapping

from kernelwright.place.source_map import SourceMap, class_of
from kernelwright.place.variables import called_module, called_path
from kernelwright.values import Node


@functools.lru_cache(maxsize=16)
def instances(source: SourceMap, block: ast.ClassDef) -> Mapping[str, tuple[int, ...]]:
    """The paths of the modules whose methods ran in `block`, each with the nodes that they made there."""
    ours = [n for n in source.graph.nodes if (tree := source.expression(n)) and class_of(source, tree) is block]
    if block.name == source.graph.entry:
        return {"": tuple(node.id for node in ours)}
    owners = {node.id: owner(source, node) for node in ours}
    paths = {path for path in owners.values() if path is not None}
    found: dict[str, list[int]] = {path: [] for path in paths}
    for node in ours:
        path = owners[node.id]
        if path is None:
            path = max((p for p in paths if inside(node.module, p)), key=len, default=None)
        if path is not None:
            found[path].append(node.id)
    return {path: tuple(nodes) for path, nodes in found.items()}


def owner(source: SourceMap, node: Node) -> str | None:
    """Return the path of the module that `self` is where the node's expression stands; None where that cannot be told."""
    known = called_module(source, node)
    if known is not None:
        return known[0]
    tree = source.expression(node)
    called = tree.func if isinstance(tree, ast.Call) else None
    # A variable, or an element that one chooses, does not say where `self` ends.
    unknown = isinstance(called, ast.Name | ast.Subscript) and (called_path(source, node) or "@").startswith("@")
    return None if unknown or isinstance(called, ast.Subscript) else node.module


def inside(module: str, path: str) -> bool:
    """Whether the module at the path `module` is that at `path`, or one that it holds."""
    return not path or module == path or module.startswith(f"{path}.")
