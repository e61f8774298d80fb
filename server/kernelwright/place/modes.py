"""New code that is right in one mode of a module only, evaluation or training: it goes beside the old code."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.place.layout import newline_of
from kernelwright.place.source_map import SourceMap
from kernelwright.source.trees import walk
from kernelwright.values import TextEdit


@dataclass(frozen=True)
class Mode:
    """When the new code is right, and where it stands.

    `conditions`: none where it is right in both modes. `sink`: the statement that takes the new call. `block`: the statements
    side by side of which it is one.
    """

    conditions: tuple[str, ...]
    sink: ast.stmt
    block: tuple[ast.stmt, ...]


def asserted(source: SourceMap, mode: Mode) -> list[TextEdit]:
    """The edits that have the new code insist on its mode."""
    start, indent = _start_of(source, mode.sink)
    newline = newline_of(source.text)
    text = "".join(f"{indent}assert {condition}{newline}" for condition in mode.conditions)
    return [TextEdit(start, start, text)] if text else []


def chosen(source: SourceMap, mode: Mode, edits: Sequence[TextEdit]) -> list[TextEdit] | None:
    """The edits that put the result of `edits` before the old code, for its mode, and leave the old code for the other.

    None where both modes take the new code, where the edits go beyond whole statements side by side, and where an indented
    copy would change a string or mix tabs and spaces.
    """
    if not mode.conditions:
        return None
    touched = [s for s in mode.block if any(_overlap(source, s, edit) for edit in edits)]
    if not touched or mode.sink is not touched[-1] or any(map(_holds_lines_of_text, touched)):
        return None
    start = min(_start_of(source, touched[0])[0], *(edit.start for edit in edits))
    start, indent = source.text.rfind("\n", 0, start) + 1, _start_of(source, mode.sink)[1]
    end = source.starts[touched[-1].end_lineno or touched[-1].lineno]
    if indent.strip(" ") or any(edit.end > end for edit in edits):
        return None
    newline = newline_of(source.text)
    head = f"{indent}if {' and '.join(mode.conditions)}:{newline}"
    old, new = source.text[start:end], _indented(_edited(source.text, start, end, edits))
    new += "" if new.endswith("\n") else newline  # the last line of a file may have none
    if isinstance(mode.sink, ast.Return):
        return [TextEdit(start, start, head + new)]
    return [TextEdit(start, end, f"{head}{new}{indent}else:{newline}{_indented(old)}")]


def _start_of(source: SourceMap, statement: ast.stmt) -> tuple[int, str]:
    """Where the first line of a statement begins, and its indentation."""
    return source.starts[statement.lineno - 1], source.lines[statement.lineno - 1][: statement.col_offset]


def _overlap(source: SourceMap, statement: ast.stmt, edit: TextEdit) -> bool:
    start, end = source.offsets(statement)
    return (edit.start < end and start < edit.end) or start <= edit.start == edit.end <= end


def _holds_lines_of_text(statement: ast.stmt) -> bool:
    """Whether a string in it goes over several lines."""
    texts = (
        n
        for n in walk(statement)
        if isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str))
    )
    return any(n.lineno != n.end_lineno for n in texts)


def _edited(text: str, start: int, end: int, edits: Sequence[TextEdit]) -> str:
    parts: list[str] = []
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        parts += (text[start : edit.start], edit.new_text)
        start = edit.end
    return "".join((*parts, text[start:end]))


def _indented(lines: str) -> str:
    return "\n".join(f"    {line}" if line.strip() else line for line in lines.split("\n"))
