"""A place in a workload line: which line it is, and the word there."""

import re
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from kernelwright.lsp.positions import columns_before
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Case

if TYPE_CHECKING:
    from kernelwright.source.workload.words import Word


def case_at(snapshot: Snapshot, position: lsp.Position) -> tuple[Case, int] | None:
    """The workload line at a position, and the column in its call; None beside one."""
    line = snapshot.lines.line(position.line)
    if "workload" not in line:
        return None  # completion is asked for with every space that is typed
    column = columns_before(line, position.character, snapshot.encoding)
    for case in snapshot.support.workload_lines(snapshot.text):
        if case.line == position.line and column >= case.column:
            return case, column - case.column
    return None


def hover(session: Session, snapshot: Snapshot, position: lsp.Position) -> lsp.Hover | None:
    """What the word under the pointer means."""
    from kernelwright.source.workload.words import word

    found = case_at(snapshot, position)
    if found is None:
        return None
    case, column = found
    for match in re.finditer(r"\w+", case.text):
        row = word(match.group()) if match.start() <= column <= match.end() else None
        if row is not None:
            ends = (snapshot.at(case.line, case.column + end) for end in match.span())
            return lsp.Hover(shown(session, row), lsp.Range(*ends))
    return None


def shown(session: Session, row: "Word") -> lsp.MarkupContent:
    text = f"**{row.name}**: {row.says}\n\n`{row.example}`"
    if session.client.markdown:
        return lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.MarkupContent(lsp.MarkupKind.PlainText, re.sub(r"\*\*|`", "", text))
