"""Which definitions of a file an edit from outside may change, and what it may add beside them."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.languages.editing import added_pieces
from kernelwright.languages.python.static_gate import forbidden
from kernelwright.languages.support import Piece
from kernelwright.source.cute import cute_code
from kernelwright.source.workload import workload_lines
from kernelwright.values import Kernel, Refusal


def pieces(text: str, kernel: Kernel) -> tuple[Piece, ...]:
    """The top-level statements of a text that parses, and the comments between them, in order.

    Editable are the definitions that hold the kernel, its entry, and the functions that launch it; where it leads to a kernel
    in CuTe DSL, that one too, with the functions that nothing else uses.
    """
    names = {launch.function for launch in kernel.launches} | cute_code(text, kernel.entry).helpers
    places = [kernel.start_line, *([] if kernel.entry_start_line is None else [kernel.entry_start_line])]
    return _pieces(text, lambda one: any(one.start <= place < one.end for place in places) or one.name in names)


def edit_problem(before: str, after: str, kernel: Kernel) -> Refusal | None:
    """Why an edit from outside may not be tried, in one sentence: `before` and `after` are whole texts that parse."""
    old, new = pieces(before, kernel), _pieces(after, lambda one: False)
    helpers = cute_code(before, kernel.entry).helpers
    added = added_pieces(old, new, frozenset(piece.name for piece in old if piece.name not in helpers))
    if isinstance(added, Refusal):
        return added
    known = {name: meaning for statement in ast.parse(_bare(before)).body for name, meaning in _binds(statement)}
    for piece in added:
        if not piece.is_comment and (problem := _not_addable(piece, known)) is not None:
            return problem
    if [case.text for case in workload_lines(before)] != [case.text for case in workload_lines(after)]:
        return Refusal("The workload lines must stay as they are: the kernel is judged on them.")
    return forbidden(before, after)


def _not_addable(piece: Piece, known: dict[str, str]) -> Refusal | None:
    """Why a new piece may not stand at the top level: only imports, helpers and constants with new names may."""
    body = ast.parse(piece.code).body
    if not all(isinstance(statement, _ADDABLE) for statement in body):
        return Refusal(f"`{piece.first_line}` is no import, helper or constant, so it may not be added to the file.")
    for name, meaning in (bound for statement in body for bound in _binds(statement)):
        if known.get(name, meaning) != meaning or (name in known and not meaning):
            return Refusal(f"`{piece.first_line}` gives the name `{name}` another meaning; choose a new name.")
    return None


_ADDABLE = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


def _binds(statement: ast.stmt) -> list[tuple[str, str]]:
    """The names that a top-level statement binds, with what an import binds them to, "" for all others."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [(name, "")]
        case ast.Import(names=names):
            return [(alias.asname or alias.name.split(".")[0], _imported(alias)) for alias in names]
        case ast.ImportFrom(module=module, names=names):
            return [(alias.asname or alias.name, f"{module}.{alias.name}") for alias in names]
    stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return [(node.id, "") for node in stored]


def _imported(alias: ast.alias) -> str:
    return alias.name if alias.asname else alias.name.split(".")[0]


@dataclass(frozen=True)
class _Lines:
    """The whole lines of a top-level statement, end-exclusive. `name` is empty where it is no definition."""

    start: int
    end: int
    name: str


def _pieces(text: str, editable: Callable[[_Lines], bool]) -> tuple[Piece, ...]:
    lines = _bare(text).splitlines(keepends=True)
    found: list[Piece] = []
    line = 0
    for one in _statements(text):
        found += _comments(lines, line, one.start)
        code = "".join(lines[one.start : one.end])
        found.append(Piece(one.name or code, one.start, one.end, code, editable(one)))
        line = one.end
    return (*found, *_comments(lines, line, len(lines)))


def _statements(text: str) -> list[_Lines]:
    """Statements that share a line are one."""
    found: list[_Lines] = []
    for node in ast.parse(_bare(text)).body:
        decorators = getattr(node, "decorator_list", [])
        start = min(one.lineno for one in (node, *decorators)) - 1
        end = node.end_lineno or start + 1
        name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ""
        if found and start < found[-1].end:
            last = found.pop()
            start, end, name = last.start, max(last.end, end), ""
        found.append(_Lines(start, end, name))
    return found


def _comments(lines: list[str], start: int, end: int) -> list[Piece]:
    commented = (line for line in range(start, end) if lines[line].strip())
    return [Piece("", line, line + 1, lines[line], False, is_comment=True) for line in commented]


def _bare(text: str) -> str:
    return text.removeprefix("\ufeff")
