"""What callers of a file rely on: the public functions and classes, and their parameters. Pure functions on texts."""

import ast
from collections.abc import Iterator, Mapping

_FOR_WORKLOADS = frozenset({"get_inputs", "get_init_inputs"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def broken(baseline: str, candidate: str) -> str:
    """The first call that the baseline's text takes and the candidate's does not, or takes otherwise; "" for none.

    Parameters keep their names, order and defaults; further ones are optional. Kernels (`jit`, `cute.kernel`) are launched
    by their own file alone. Functions that only one text has are no part of this: see `gone`.
    """
    before, after = _functions(baseline), _functions(candidate)
    found = (_changed(name, before[name], after[name]) for name in before if name in after)
    return next((words for words in found if words), "")


def gone(baseline: str, candidate: str) -> tuple[str, ...]:
    """The public functions, classes and methods of the baseline's text that the candidate's does not bind at all."""
    nodes = list(_top_level(ast.parse(candidate)))
    bound = {name for node in nodes for name in _bound(node)}
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    wanted: dict[str, None] = {}
    for name in _functions(baseline):
        owner, _, method = name.partition(".")
        lost = owner in classes and method and method != "__init__" and method not in _members(owner, classes)
        wanted |= {owner: None} if owner not in bound else {name: None} if lost else {}
    return tuple(wanted)


def _members(name: str, classes: Mapping[str, ast.ClassDef]) -> set[str]:
    """What a class binds in its body, and in those of the text's own classes that it derives from."""
    waiting, seen, found = [name], set[str](), set[str]()
    while waiting:
        node = classes.get(waiting.pop())
        if node is None or node.name in seen:
            continue
        seen.add(node.name)
        found |= {member for part in node.body for member in _bound(part)}
        waiting += [ast.unparse(base) for base in node.bases]
    return found


def _functions(text: str) -> dict[str, _Function]:
    """Public functions, and the public methods and constructors of public classes, by their name."""
    found: dict[str, _Function] = {}
    for node in _top_level(ast.parse(text)):
        if isinstance(node, _Function) and _public(node.name) and not _is_kernel(node):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef) and _public(node.name):
            methods = [part for part in node.body if isinstance(part, _Function)]
            found |= {f"{node.name}.{m.name}": m for m in methods if _public(m.name) or m.name == "__init__"}
    return found


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run on import, those of branches too."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, _Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    else:
        yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _public(name: str) -> bool:
    return not name.startswith("_") and name not in _FOR_WORKLOADS


def _is_kernel(node: _Function) -> bool:
    decorators = map(ast.unparse, node.decorator_list)
    return any("jit" in decorator or "cute.kernel" in decorator for decorator in decorators)


def _changed(name: str, before: _Function, after: _Function) -> str:
    old, new = before.args, after.args
    if new.vararg and new.kwarg:
        return ""
    positional, others = [*old.posonlyargs, *old.args], [*new.posonlyargs, *new.args]
    defaults, names = _defaults(new), [one.arg for one in others]
    for place, parameter in enumerate(positional):
        known = place < len(names) and (names[place] == parameter.arg or parameter in old.posonlyargs)
        if not known:
            moved = "stands elsewhere" if parameter.arg in defaults else "is gone"
            return f"parameter `{parameter.arg}` of `{name}` {moved}"
    for keyword in old.kwonlyargs:
        if keyword.arg not in defaults:
            return f"parameter `{keyword.arg}` of `{name}` is gone"
    for own, default in _defaults(old).items():
        if own in defaults and defaults[own] != default:
            had, has = default or "none", defaults[own] or "none"
            return f"the default of `{own}` in `{name}` is {has} instead of {had}"
    added = [one for one in (*names[len(positional) :], *(k.arg for k in new.kwonlyargs)) if one not in _defaults(old)]
    needed = next((one for one in added if not defaults[one]), "")
    if needed:
        return f"`{name}` needs a further parameter, `{needed}`"
    if (old.vararg and not new.vararg) or (old.kwarg and not new.kwarg):
        return f"`{name}` takes no further arguments any more"
    return ""


def _defaults(arguments: ast.arguments) -> dict[str, str]:
    """Of each parameter by name, as text; "" where it has none."""
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    given = ["" for _ in positional[: len(positional) - len(arguments.defaults)]]
    given += [ast.unparse(default) for default in arguments.defaults]
    keywords = {
        k.arg: ast.unparse(d) if d else "" for k, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    }
    return {**dict(zip(positional, given, strict=True)), **keywords}
