"""Where new definitions and imports go in a Python file, and with which line breaks."""

import ast
import functools
import sys
from collections.abc import Sequence

from kernelwright.place.source_map import SourceMap
from kernelwright.source.trees import walk
from kernelwright.values import Refusal, TextEdit

WIDTH = 88  # of generated lines, where formatters agree
IMPORTS = {"torch": "import torch", "triton": "import triton", "tl": "import triton.language as tl"}


def newline_of(text: str) -> str:
    """The line break that the file uses."""
    return "\r\n" if "\r\n" in text else "\n"


def insertion_edits(
    source: SourceMap, function: ast.FunctionDef, definitions: str, names: tuple[str, ...]
) -> list[TextEdit]:
    """Edits that put `definitions` above the class or function around `function`, and import what they name."""
    edits: list[TextEdit] = []
    newline = newline_of(source.text)
    bound = module_names(source.tree)
    edits += _import_edits(
        source, [IMPORTS.get(name, f"import {name}") for name in names if name not in bound], newline
    )
    if definitions:
        at = _definition_line(source, function)
        before = source.text[: source.starts[at]].replace("\r\n", "\n")
        blank = 2 - (len(before) - len(before.rstrip("\n")) - 1) if before.strip() else 0
        text = "\n" * max(blank, 0) + definitions.strip("\n") + "\n\n\n"
        edits.append(TextEdit(source.starts[at], source.starts[at], text.replace("\n", newline)))
    return edits


def module_names(tree: ast.Module) -> dict[str, str]:
    """What each name that a top-level import binds stands for: {"tl": "triton.language"}."""
    names: dict[str, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(statement, ast.ImportFrom):
            names |= {a.asname or a.name: f"{statement.module}.{a.name}" for a in statement.names}
    return names


@functools.lru_cache(maxsize=16)
def import_conflict(tree: ast.Module) -> Refusal | None:
    """Why `torch`, `triton` and `tl` cannot mean what generated code takes them for."""
    meaning = {"torch": "torch", "triton": "triton", "tl": "triton.language"}
    imported = module_names(tree)
    for name, wanted in meaning.items():
        if imported.get(name, wanted) != wanted:
            return Refusal(f"`{name}` names {imported[name]} in this file; generated code needs it for {wanted}.")
    for item in walk(tree):
        if isinstance(item, ast.FunctionDef | ast.ClassDef) and item.name in meaning:
            return Refusal(f"`{item.name}` is defined in this file; generated code needs the name.", item.lineno - 1)
    return None


def free_names(source: SourceMap, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The wanted names, all with the same number behind them where one of them is taken."""
    taken = {n.id for n in walk(source.tree) if isinstance(n, ast.Name)}
    taken |= {n.name for n in walk(source.tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    for suffix in ("", *(f"_{i}" for i in range(2, 1000))):
        names = tuple(name + suffix for name in wanted)
        if not taken & set(names):
            return names
    return wanted


def _definition_line(source: SourceMap, function: ast.FunctionDef) -> int:
    top: ast.AST = function
    while not isinstance(source.parents[top], ast.Module):
        top = source.parents[top]
    line = min(source.span(part).start_line for part in (top, *getattr(top, "decorator_list", [])))
    while line > 0 and source.lines[line - 1].startswith("#"):
        line -= 1
    return line


def _import_edits(source: SourceMap, missing: list[str], newline: str) -> list[TextEdit]:
    """Edits that add each missing import where isort would put it: plain imports by name, before `from` imports."""
    body = source.tree.body
    imports = [s for s in body if isinstance(s, ast.Import | ast.ImportFrom) and _module(s) != "__future__"]
    others = [s for s in imports if not _is_standard(_module(s))]
    standard = [s for s in imports if _is_standard(_module(s))]
    places: dict[tuple[int, str], list[str]] = {}
    for line in missing:
        name = line.split()[1]
        peers, below = (standard, others) if _is_standard(name) else (others, [])
        smaller = [s for s in peers if isinstance(s, ast.Import) and all(a.name <= name for a in s.names)]
        if smaller:
            at, blank = smaller[-1].end_lineno or smaller[-1].lineno, ""
        elif peers:
            at, blank = peers[0].lineno - 1, ""
        elif below:
            at, blank = below[0].lineno - 1, "behind"
        else:
            at, blank = _behind(body), "around"
        places.setdefault((at, blank), []).append(line)
    in_order = sorted(places.items(), key=lambda item: (item[0][0], ("behind", "", "around").index(item[0][1])))
    return [_insertion(source, at, lines, newline, blank) for (at, blank), lines in in_order]


def _behind(body: list[ast.stmt]) -> int:
    """The line after the last import; without any, after the docstring."""
    imports = [s for s in body if isinstance(s, ast.Import | ast.ImportFrom)]
    if imports:
        return imports[-1].end_lineno or imports[-1].lineno
    has_docstring = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return (body[0].end_lineno or 1) if has_docstring else 0


def _insertion(source: SourceMap, at: int, lines: list[str], newline: str, blank: str) -> TextEdit:
    """`lines` as new lines before line `at`, with a blank line "around" or "behind" them."""
    text = newline.join(lines) + newline
    if blank == "around" and at > 0:
        text = newline + text
    if blank and at < len(source.lines) and source.lines[at].strip():
        text += newline
    return TextEdit(source.starts[at], source.starts[at], text)


def _module(statement: ast.Import | ast.ImportFrom) -> str:
    return (statement.module or "") if isinstance(statement, ast.ImportFrom) else statement.names[0].name


def _is_standard(module: str) -> bool:
    return module.split(".")[0] in sys.stdlib_module_names


def call_text(head: str, arguments: Sequence[str], tail: str, indent: int, prefix: int = 0) -> str:
    """`head(arguments)tail`, broken over lines as black does; `prefix` columns are taken on the first line."""
    one = f"{head}({', '.join(arguments)}){tail}"
    if indent + prefix + len(one) <= WIDTH:
        return one
    pad = " " * (indent + 4)
    joined = ", ".join(arguments)
    if len(pad) + len(joined) <= WIDTH:
        return f"{head}(\n{pad}{joined}\n{' ' * indent}){tail}"
    lines = "".join(f"{pad}{argument},\n" for argument in arguments)
    return f"{head}(\n{lines}{' ' * indent}){tail}"
