"""Local names that hold modules: the variable of a loop over a container, an element that an index chooses."""

import ast
import functools
from collections.abc import Iterator

from kernelwright.place.source_map import SourceMap, bound_names, module_path
from kernelwright.values import Node

_ANY = "*"  # the part of a path that differs from run to run
_WRAPPERS = frozenset({"list", "tuple", "reversed"})


def called_path(source: SourceMap, node: Node) -> str | None:
    """The path of the module that the node's expression calls, as the text writes it; None for any other call."""
    tree = source.expression(node)
    return module_path(tree.func) if isinstance(tree, ast.Call) else None


def called_module(source: SourceMap, node: Node) -> tuple[str, str] | None:
    """Return the path of the module that `self` is where the node's expression stands, and that of the one it calls there.

    None where the expression calls no module, or none that the text names.
    """
    tree, path = source.expression(node), called_path(source, node)
    if tree is None or path is None:
        return None
    if f"{node.module}.".startswith(f"{path}."):
        return "", path
    wanted = _parts(source, tree, path)
    made = node.module.split(".")
    if wanted is None:
        return None
    for start in range(len(made) - len(wanted), -1, -1):
        found = made[start : start + len(wanted)]
        if all(part in (_ANY, own) for part, own in zip(wanted, found, strict=True)):
            return ".".join(made[:start]), ".".join(found)
    return None


def chosen(source: SourceMap, node: Node) -> dict[str, str]:
    """The module, by its path from `self` on, that each written path with a variable at its end means for this node."""
    tree, path, called = source.expression(node), called_path(source, node), called_module(source, node)
    if tree is None or path is None or called is None:
        return {}
    concrete = called[1].split(".")
    written = path.split(".")
    found: dict[str, str] = {}
    for count in range(1, len(written) + 1):
        if not written[count - 1].startswith("@"):
            continue
        head = ".".join(written[:count])
        length = len(_parts(source, tree, head) or ())
        if count == 1 or written[count - 1][1:] not in _rebound(source, tree):
            found[head] = ".".join(concrete[:length])
    return found


def loop_around(source: SourceMap, tree: ast.AST) -> ast.For | None:
    """The innermost `for` statement of the function in whose body a tree stands."""
    child, parent = tree, source.parents.get(tree)
    while parent is not None and not isinstance(parent, ast.FunctionDef | ast.Lambda):
        if isinstance(parent, ast.For) and child in parent.body:
            return parent
        child, parent = parent, source.parents.get(parent)
    return None


def _parts(source: SourceMap, tree: ast.AST, path: str) -> tuple[str, ...] | None:
    """The parts of the paths that a written path can mean at `tree`; None where its first name is not known to hold modules."""
    first, *rest = path.split(".")
    more = tuple(_ANY if part.startswith("@") else part for part in rest)
    if not first.startswith("@"):
        return (first, *more)
    held = _held(source, tree, first[1:])
    return (*held, *more) if held is not None else None


def _held(source: SourceMap, tree: ast.AST, name: str) -> tuple[str, ...] | None:
    """The paths of the modules that the variable of a loop around `tree` holds in turn."""
    loop = loop_around(source, tree)
    while loop is not None:
        if name in bound_names(loop.target):
            if name in _bound(loop):
                return None
            iterated = next((path for held, path in _elements(loop.target, loop.iter) if held == name), None)
            container = _parts(source, loop, iterated) if iterated else None
            return (*container, _ANY) if container is not None else None
        loop = loop_around(source, loop)
    return None


def _elements(target: ast.expr, iterated: ast.expr) -> Iterator[tuple[str, str]]:
    """Each variable of a loop with the written path of the container of which it is an element."""
    called = iterated.func if isinstance(iterated, ast.Call) else None
    given = iterated.args if isinstance(iterated, ast.Call) else []
    name = called.id if isinstance(called, ast.Name) else ""
    if isinstance(target, ast.Tuple) and name == "enumerate" and given and len(target.elts) == 2:
        yield from _elements(target.elts[1], given[0])
    elif isinstance(target, ast.Tuple) and name == "zip":
        for part, one in zip(target.elts, given, strict=False):
            yield from _elements(part, one)
    elif name in _WRAPPERS and len(given) == 1:
        yield from _elements(target, given[0])
    elif isinstance(iterated, ast.Subscript) and isinstance(iterated.slice, ast.Slice):
        yield from _elements(target, iterated.value)
    elif isinstance(called, ast.Attribute) and called.attr == "values" and not given:
        yield from _elements(target, called.value)
    elif isinstance(target, ast.Name) and (path := module_path(iterated)) is not None:
        yield target.id, path


def _rebound(source: SourceMap, tree: ast.AST) -> frozenset[str]:
    """The names that the code around `tree`, a loop's body or a function's, binds anew while it runs."""
    code = loop_around(source, tree) or source.function(tree)
    return _bound(code) if code is not None else frozenset()


@functools.lru_cache(maxsize=128)
def _bound(code: ast.For | ast.FunctionDef) -> frozenset[str]:
    """The names that the body of a loop or function binds."""
    return frozenset(name for statement in code.body for name in bound_names(statement))
