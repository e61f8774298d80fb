"""Handing edits to the editor: for exactly the version of the text that they were made for, as one undo."""

import asyncio
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from kernelwright import values
from kernelwright.lsp.client import Client
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Edits, Refusal, TextEdit

_ANNOTATION = "kernelwright"
_APPLY = "Apply"


def workspace_edit(
    client: Client, snapshot: Snapshot, edits: Edits, label: str, *, preview: bool = False
) -> lsp.WorkspaceEdit:
    """A versioned edit, annotated with `label`, as far as the client knows versions and annotations.

    With `preview` a client that knows annotations shows the edit and asks before it makes it: as one place, because in a
    list of places some could be left out, and a part of a step has never been verified.
    """
    made = _as_one(edits, snapshot.text) if preview else edits.edits
    changes = [(snapshot.range(edit.start, edit.end), _endings(snapshot, edit.new_text)) for edit in made]
    if not client.can("workspace.workspace_edit.document_changes"):
        return lsp.WorkspaceEdit(changes={snapshot.uri: [lsp.TextEdit(range, text) for range, text in changes]})
    document = lsp.OptionalVersionedTextDocumentIdentifier(snapshot.uri, snapshot.version)
    if not can_preview(client):
        plain = [lsp.TextEdit(range, text) for range, text in changes]
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(document, plain)])
    annotated = [lsp.AnnotatedTextEdit(_ANNOTATION, range, text) for range, text in changes]
    return lsp.WorkspaceEdit(
        document_changes=[lsp.TextDocumentEdit(document, annotated)],
        change_annotations={_ANNOTATION: lsp.ChangeAnnotation(label, preview or None, edits.summary or None)},
    )


def can_preview(client: Client) -> bool:
    """Whether an edit can ask to be confirmed; a client without annotations would make it at once."""
    versions, annotations = "document_changes", "change_annotation_support"
    return all(client.can(f"workspace.workspace_edit.{name}") for name in (versions, annotations))


def outdated(now: Snapshot | None, text_hash: str) -> str:
    """Why edits that were made for the text with this hash cannot be applied to the document; "" where they can."""
    if now is None:
        return "The file was closed, renamed or deleted meanwhile, so nothing was changed."
    return "" if now.hash == text_hash else "The file was edited meanwhile, so nothing was changed."


async def apply(session: Session, uri: str, edits: Edits, label: str, *, preview: bool = False) -> Refusal | None:
    """None once the editor has made the edit; otherwise why nothing was changed."""
    snapshot = session.documents.get(uri)
    if (moved := outdated(snapshot, edits.text_hash)) or snapshot is None:
        return Refusal(moved)
    return await _make(session, workspace_edit(session.client, snapshot, edits, label, preview=preview), label)


def moved_on(session: Session, made_for: Snapshot, now: Snapshot | None) -> str:
    """As `outdated`, of a text that may be joined; `now` is its first page's document."""
    if not made_for.parts:
        return outdated(now, made_for.hash)
    for part in made_for.parts:
        now, name = session.documents.get(part.uri), Path(part.path).name
        if now is None and part.version is not None:
            return f"{name} was closed, renamed or deleted meanwhile, so nothing was changed."
        if (now.hash if now is not None else _hash_on_disk(session, part)) != part.hash:
            return f"{name} was edited meanwhile, so nothing was changed."
    return ""


def _hash_on_disk(session: Session, part: Snapshot) -> str:
    try:
        return session.document(Path(part.path)).hash
    except OSError:
        return ""


async def apply_whole(
    session: Session, made_for: Snapshot, edits: Edits, label: str, *, preview: bool = False
) -> Refusal | None:
    """As `apply`, for a text that may be joined: all of its documents are changed at once, or none.

    No editor previews edits of two documents as one place, so the person is asked before they are made.
    """
    if not made_for.parts:
        return await apply(session, made_for.uri, edits, label, preview=preview)
    changed = made_for.edits(edits)
    if preview and len(changed) > 1:
        names = " and ".join(Path(part.path).name for part, _ in changed)
        if await session.client.ask(f"{label} changes {names}.", _APPLY) != _APPLY:
            return Refusal("The step was not applied, so nothing was changed.")
        preview = False
    if moved := moved_on(session, made_for, None):
        return Refusal(moved)
    now = [(session.documents.get(part.uri) or part, edits) for part, edits in changed]
    return await apply_to_all(session, now, label, preview=preview)


async def arrived(session: Session, after: Snapshot, seconds: float) -> Snapshot:
    """The documents of a text once the editor's edit has come back as their change; as they will be, if it takes longer."""
    parts = tuple(
        [
            await session.documents.wait_for_text(part.uri, part.hash, seconds if part.version is not None else 0)
            or part
            for part in after.parts or (after,)
        ]
    )
    return dataclasses.replace(parts[0], text=after.text, parts=parts) if after.parts else parts[0]


async def apply_to_all(
    session: Session, changed: Sequence[tuple[Snapshot, Edits]], label: str, *, preview: bool = False
) -> Refusal | None:
    """As `apply`, for several documents at once; those that are not open are changed as they lie on the disk."""
    for snapshot, edits in changed:
        if snapshot.version is not None and (moved := outdated(session.documents.get(snapshot.uri), edits.text_hash)):
            return Refusal(moved)
    parts = [workspace_edit(session.client, snapshot, edits, label, preview=preview) for snapshot, edits in changed]
    whole = parts[0]
    for part in parts[1:]:
        whole = lsp.WorkspaceEdit(
            {**whole.changes, **(part.changes or {})} if whole.changes is not None else None,
            [*whole.document_changes, *(part.document_changes or ())] if whole.document_changes is not None else None,
            whole.change_annotations,
        )
    return await _make(session, whole, label)


async def _make(session: Session, edit: lsp.WorkspaceEdit, label: str) -> Refusal | None:
    params = lsp.ApplyWorkspaceEditParams(edit, label)
    sent = asyncio.ensure_future(session.server.workspace_apply_edit_async(params))
    try:
        await asyncio.wait({sent})
    except asyncio.CancelledError:
        await asyncio.wait({sent})  # an edit cannot be called back: what the editor makes of it has to be known
    try:
        answer = sent.result()
    except JsonRpcException as error:
        return Refusal(f"The editor did not take the edit: {error.message}.")
    if not answer.applied:
        why = f": {answer.failure_reason}" if answer.failure_reason else ""
        return Refusal(f"The editor did not take the edit, so nothing was changed{why}.")
    return None


def _as_one(edits: Edits, text: str) -> tuple[TextEdit]:
    start, end = min(edit.start for edit in edits.edits), max(edit.end for edit in edits.edits)
    after = values.apply(edits, text)
    return (TextEdit(start, end, after[start : len(after) - (len(text) - end)]),)


def _endings(snapshot: Snapshot, text: str) -> str:
    return text.replace("\n", "\r\n") if snapshot.crlf else text
