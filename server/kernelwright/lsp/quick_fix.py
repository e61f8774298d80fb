"""Quick fixes: small deterministic edits for findings, and the line that gives a kernel its workload.

A line that a worker can try is a command's to write, which does so.
"""

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from kernelwright.lsp import applying, diagnostics, workload_fix
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Edits

if TYPE_CHECKING:
    from kernelwright.source.findings import Finding


def quick_fixes(
    session: Session, snapshot: Snapshot, where: lsp.Range, context: lsp.CodeActionContext
) -> list[lsp.CodeAction]:
    """Fixes for the findings that `where` touches; the edit is left to resolve when the client asks for that.

    Right after a key, before this version's findings are shown, they are looked for only where the client shows one of
    ours, or asks for fixes alone: a menu of strategies does not wait for fixes of what nobody has been told of.
    """
    shown = context.diagnostics
    asked = bool(context.only) or any(d.source == diagnostics.SOURCE for d in shown)
    later = session.client.resolves("code_action", "edit") and session.client.can(
        "text_document.code_action.data_support"
    )
    actions: list[lsp.CodeAction] = []
    for title, place, code, edits in _fixes(session, snapshot, where, asked):
        action = lsp.CodeAction(title, lsp.CodeActionKind.QuickFix)
        action.diagnostics = [d for d in shown if d.code == code and _touch(d.range, place)] or None
        if later:
            action.data = {"uri": snapshot.uri, "version": snapshot.version, "title": title, "line": place.start.line}
        else:
            action.edit = applying.workspace_edit(session.client, snapshot, edits, title)
        actions.append(action)
    for place, command in workload_fix.to_try(session, snapshot, where):
        action = lsp.CodeAction(command.title, lsp.CodeActionKind.QuickFix, command=command)
        action.diagnostics = [d for d in shown if d.code == workload_fix.CODE and _touch(d.range, place)] or None
        actions.append(action)
    return actions


def resolve(session: Session, action: lsp.CodeAction) -> lsp.CodeAction:
    """Fills in the edit, unless the text has changed since the menu was made: then there is none."""
    data = action.data if isinstance(action.data, dict) else {}
    snapshot = session.documents.get(str(data.get("uri", "")))
    if snapshot is None or snapshot.version != data.get("version"):
        return action
    line = lsp.Position(int(data.get("line", 0)), 0)
    for title, _, _, edits in _fixes(session, snapshot, lsp.Range(line, lsp.Position(line.line + 1, 0))):
        if title == data.get("title"):
            action.edit = applying.workspace_edit(session.client, snapshot, edits, title)
            break
    return action


def _fixes(
    session: Session, snapshot: Snapshot, where: lsp.Range, asked: bool = True
) -> list[tuple[str, lsp.Range, str, Edits]]:
    """Title, place, code of the diagnostic, and edits, of all that `where` touches."""
    found = _findings(session, snapshot, where, asked)
    lines = range(where.start.line, where.end.line + 1)
    fixes = [
        (f.fix.title, snapshot.range(f.start, f.end), f.code, f.fix.edits)
        for f in found
        if f.fix is not None and f.start_line < lines.stop and lines.start <= f.end_line
    ]
    return [*(fix for fix in fixes if _touch(fix[1], where)), *workload_fix.fixes(snapshot, where)]


def _findings(session: Session, snapshot: Snapshot, where: lsp.Range, asked: bool) -> "tuple[Finding, ...]":
    if not session.settings.findings:
        return ()
    return snapshot.findings_near(where) if asked else snapshot.known_findings


def _touch(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start <= other.end and other.start <= one.end
