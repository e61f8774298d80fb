"""A decorator put on a method, with the definitions that it needs."""

import ast
from collections.abc import Sequence

from kernelwright.place.layout import insertion_edits, module_names, newline_of
from kernelwright.place.source_map import SourceMap, bound_names
from kernelwright.values import Edits, Refusal, TextEdit, digest


def decorated(
    source: SourceMap, method: ast.FunctionDef, decorator: str, definitions: str, imports: Sequence[str]
) -> Edits | Refusal:
    """Edits that put `@decorator` on `method`, and above its class `definitions` with the `imports` that they use."""
    for name in imports:
        if _means_something_else(source.tree, name):
            return Refusal(f"`{name}` is something else than the module in this file; generated code needs it.")
    start = source.starts[method.lineno - 1]
    indent = source.text[start : source.offsets(method)[0]]
    if indent.strip():
        return Refusal(f"{method.name} does not begin its line.", method.lineno - 1)
    line = TextEdit(start, start, f"{indent}@{decorator}{newline_of(source.text)}")
    edits = [*insertion_edits(source, method, definitions, tuple(imports)), line]
    return Edits(digest(source.text), tuple(sorted(edits, key=lambda e: (e.start, e.end))))


def _means_something_else(tree: ast.Module, name: str) -> bool:
    if module_names(tree).get(name, name) != name:
        return True
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(s.name == name if isinstance(s, defined) else name in bound_names(s) for s in tree.body)
