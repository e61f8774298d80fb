"""How the source writes the window of a pool or convolution: kernel size, stride, padding, dilation and groups."""

import ast

from kernelwright.ops import parameters
from kernelwright.place.source_map import SourceMap, attribute_path, attribute_text, is_module_call
from kernelwright.values import Node, Refusal

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


def _is_literal(tree: ast.expr) -> bool:
    try:
        ast.literal_eval(tree)
    except ValueError:
        return False
    return True
