"""Names, parameters and calls in Python's own syntax trees, as findings and rewrites of Triton kernels both read them."""

import ast
from collections.abc import Iterator


def dotted(node: ast.AST) -> str:
    """ "a.b.c" as written, "" for anything but a chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


def parameters(definition: ast.FunctionDef | ast.Lambda) -> tuple[ast.arg, ...]:
    """Those by position, then those by name alone; stars are left out."""
    return (*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs)


def constexprs(kernel: ast.FunctionDef) -> tuple[str, ...]:
    """The parameters that are compile-time constants, by their annotation; also one that is written as a string."""
    return tuple(p.arg for p in parameters(kernel) if p.annotation is not None and _is_constexpr(p.annotation))


def defaults(definition: ast.FunctionDef | ast.Lambda) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that have a default, with it."""
    arguments = definition.args
    positional = (*arguments.posonlyargs, *arguments.args)
    with_default = positional[len(positional) - len(arguments.defaults) :]
    yield from ((p.arg, value) for p, value in zip(with_default, arguments.defaults, strict=True))
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from ((p.arg, value) for p, value in by_name if value is not None)


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument by position or name, None when absent or hidden behind a star."""
    found = next((k.value for k in call.keywords if k.arg == name), None)
    if found is not None:
        return found
    if position < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
        return call.args[position]
    return None


def bound(definition: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """What a call passes to each parameter; what comes after a star by position is not known."""
    found: dict[str, ast.expr] = {}
    for parameter, value in zip((*definition.args.posonlyargs, *definition.args.args), call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        found[parameter.arg] = value
    known = {parameter.arg for parameter in parameters(definition)}
    return found | {k.arg: k.value for k in call.keywords if k.arg in known}


def _is_constexpr(annotation: ast.expr) -> bool:
    text = annotation.value if isinstance(annotation, ast.Constant) else dotted(annotation)
    return isinstance(text, str) and text.rpartition(".")[2] == "constexpr"
