"""How the source writes the window of a pool or convolution: kernel size, stride, padding, dilation and groups."""

import ast
import math

from kernelwright.micro.rewrite.algebra import View
from kernelwright.micro.rewrite.algebra_pools import option, tiles
from kernelwright.ops import parameters
from kernelwright.place.source_map import (
    SourceMap,
    attribute_path,
    attribute_text,
    is_module_call,
    loaded_names,
    operands,
)
from kernelwright.values import Node, Refusal

_MOST = 64
"""Elements of a tile that a program walks through for each result."""
_WINDOW = ("kernel_size", "stride", "padding", "dilation", "groups", "output_padding")


def window_numbers(source: SourceMap, node: Node) -> dict[tuple[int, str], str] | Refusal:
    """(node id, parameter) to the expression of each number of the window that is no literal.

    A module keeps them as attributes of the same names.
    """
    tree = source.expression(node)
    names = [name for name, _ in parameters(node.op)[0]]
    line = node.where.start_line if node.where else None
    if not isinstance(tree, ast.Call) or any(isinstance(a, ast.Starred) for a in tree.args):
        return Refusal(f"The window of {node.op} cannot be told from the source.", line)
    if is_module_call(node, tree):
        path = attribute_text(node.module)
        return {(node.id, name): f"{path}.{name}" for name in names if name in _WINDOW}
    written = dict(zip(names, tree.args, strict=False)) | {k.arg: k.value for k in tree.keywords if k.arg}
    found: dict[tuple[int, str], str] = {}
    for name in _WINDOW:
        expression = written.get(name)
        if expression is None or _is_literal(expression):
            continue
        if attribute_path(expression) is None:
            return Refusal(f"The {name} of {node.op} is neither a literal nor an attribute of the module.", line)
        found[node.id, name] = source.segment(expression)
    return found


def tile_numbers(source: SourceMap, node: Node) -> dict[tuple[int, str], str] | None:
    """What `window_numbers` says of a pool over small, square tiles that adjoin, by its extent alone; None for any other."""
    extents = tiles(View(source.graph), node)
    shape = source.graph.value(node.tensor()).type.shape
    if extents is None or len(set(extents)) > 1 or math.prod(extents) > _MOST or len(shape) != len(extents) + 2:
        return None
    tree = source.expression(node)
    if not isinstance(tree, ast.Call):
        return None
    options = option(node, "kernel_size"), option(node, "stride")
    if isinstance(options[1], tuple) and options[1] and not isinstance(options[0], tuple):
        return None
    given = operands(source, node, tree, {})
    size = given.get("kernel_size", given.get("other"))
    if is_module_call(node, tree):
        text = f"{attribute_text(node.module)}.kernel_size"
    elif size is None or attribute_path(size) is None:
        return {} if size is not None and not loaded_names(size) else None
    else:
        text = source.segment(size)
    return {(node.id, "kernel_size"): text, (node.id, "stride"): text}


def _is_literal(tree: ast.expr) -> bool:
    try:
        ast.literal_eval(tree)
    except ValueError:
        return False
    return True
