"""Lays a merged pass out in the kernel's text, keeping its lines and comments where they still hold."""

import ast
import dataclasses
import re

from kernelwright.micro.rewrite.online_parts import Online
from kernelwright.micro.rewrite.triton_constants import replaced
from kernelwright.micro.rewrite.triton_passes import Run
from kernelwright.micro.rewrite.triton_source import Fragment, assigned_names, line_offset, names_read
from kernelwright.values import Refusal, TextEdit

# Words that count passes, after one of them has gone.
_COUNTS = (
    (r"\bSecond(?= pass\b)", "First"),
    (r"\bsecond(?= pass\b)", "first"),
    (r"\bThird(?= pass\b)", "Second"),
    (r"\bthird(?= pass\b)", "second"),
    (r"\b([Pp]ass) 2\b", r"\1 1"),
    (r"\b([Pp]ass) 3\b", r"\1 2"),
    (r"\bThree(?=[ -]pass(?:es)?\b)", "Two"),
    (r"\bthree(?=[ -]pass(?:es)?\b)", "two"),
    (r"\b3(?=[ -]pass(?:es)?\b)", "2"),
)


def with_online_pass(fragment: Fragment, run: Run, online: Online) -> str | Refusal:
    """The whole text with the first two passes merged into one."""
    text = fragment.text
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    first, second = run.passes[0].loop, run.passes[1].loop
    moved = _between(run, online)
    if isinstance(moved, Refusal):
        return moved
    before, after = moved
    assert first.end_lineno is not None
    assert second.end_lineno is not None
    online = dataclasses.replace(online, dropped=(*online.dropped, *_overwritten(run, online)))
    top = _top(run, online)
    starting = _above_comments(lines, top)
    indent = " " * first.col_offset
    inner = " " * first.body[0].col_offset
    chunk: list[str] = []
    for statement in run.block[_index_at(run, top) : run.index(0)]:
        if statement not in online.dropped:
            chunk += _lines_of(lines, statement)
    for statement in before:
        chunk += _lines_of(lines, statement)
    chunk.append(f"{indent}# {online.comment}{newline}")
    chunk += [f"{indent}{name} = {value}{newline}" for name, value in online.starts]
    chunk += lines[first.lineno - 1 : first.body[0].lineno - 1]
    update = run.passes[0].updates[0].statement
    for statement in first.body:
        if statement is update:
            chunk += [f"{inner}{line}{newline}" for line in online.body]
        else:
            chunk += _lines_of(lines, statement)
    for statement in after:
        chunk += _lines_of(lines, statement)
    edits = [TextEdit(line_offset(text, starting), line_offset(text, second.end_lineno), "".join(chunk))]
    for statement in online.dropped:
        assert statement.end_lineno is not None
        if statement.lineno - 1 < starting or statement.lineno > second.end_lineno:
            edits.append(TextEdit(line_offset(text, statement.lineno - 1), line_offset(text, statement.end_lineno), ""))
    edits += [TextEdit(*fragment.span(node), name) for node, name in online.replaced]
    edits += _recounted(fragment, starting, second.end_lineno)
    return replaced(text, edits)


def _overwritten(run: Run, online: Online) -> list[ast.stmt]:
    """Constants given before the loops to a name that now starts right above them."""
    started = {name for name, _ in online.starts}
    return [
        s
        for s in run.block[: run.index(0)]
        if isinstance(s, ast.Assign)
        and isinstance(s.value, ast.Constant)
        and assigned_names(s) <= started
        and s not in online.dropped
    ]


def _between(run: Run, online: Online) -> tuple[list[ast.stmt], list[ast.stmt]] | Refusal:
    """What stands between the two loops: what goes above the merged loop, and what has to wait until after it."""
    waiting = {name for name, _ in online.starts} | {u.name for u in run.passes[0].updates}
    waiting |= {n for s in online.dropped if s in run.between(0, 1) for n in assigned_names(s)}
    before: list[ast.stmt] = []
    after: list[ast.stmt] = []
    for statement in run.between(0, 1):
        if statement in online.dropped:
            continue
        if not isinstance(statement, ast.Assign):
            return Refusal(
                f"Line {statement.lineno} stands between the two loops and is not an assignment.",
                line=statement.lineno - 1,
            )
        if names_read(statement) & (waiting | set(run.passes[0].values)):
            waiting |= assigned_names(statement)
            after.append(statement)
        else:
            before.append(statement)
    late = {n for s in after for n in assigned_names(s)}
    used = late & {n for s in run.passes[1].loop.body for n in names_read(s)}
    if used:
        name = sorted(used)[0]
        line = next(s.lineno for s in after if name in assigned_names(s))
        return Refusal(
            f"The second loop needs {name}, which line {line} takes from the first loop's result.", line=line - 1
        )
    return before, after


def _top(run: Run, online: Online) -> int:
    """The line (from 0) of the first of the accumulators' initial values that lead up to the first loop."""
    index = run.index(0)
    while index > 0 and run.block[index - 1] in online.dropped:
        index -= 1
    return run.block[index].lineno - 1


def _index_at(run: Run, line: int) -> int:
    return next(i for i, s in enumerate(run.block) if s.lineno - 1 == line)


def _above_comments(lines: list[str], line: int) -> int:
    """The line where the comments directly above `line` begin: they speak of passes that are merged now."""
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
    return line


def _lines_of(lines: list[str], statement: ast.stmt) -> list[str]:
    """The statement's whole lines, with a comment behind it."""
    assert statement.end_lineno is not None
    return lines[statement.lineno - 1 : statement.end_lineno]


def _recounted(fragment: Fragment, starting: int, ending: int) -> list[TextEdit]:
    """Comments and the docstring of the kernel that number the passes, outside of what is rewritten anyway."""
    node, text = fragment.node, fragment.text
    assert node.end_lineno is not None
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    edits: list[TextEdit] = []
    lines = text.splitlines(keepends=True)
    for number in range(node.lineno - 1, node.end_lineno):
        if starting <= number < ending:
            continue
        line = lines[number]
        in_docstring = docstring is not None and docstring.lineno <= number + 1 <= (docstring.end_lineno or 0)
        if not in_docstring and not line.lstrip().startswith("#"):
            continue
        new = _recount(line)
        if new != line:
            at = line_offset(text, number)
            edits.append(TextEdit(at, at + len(line), new))
    return edits


def _recount(line: str) -> str:
    for pattern, new in _COUNTS:
        changed = re.sub(pattern, new, line)
        if changed != line:
            return changed
    return line
