"""Handing edits to the editor: for exactly the version of the text that they were made for, as one undo."""

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from kernelwright.lsp.client import Client
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Edits, Refusal

_ANNOTATION = "kernelwright"


def workspace_edit(client: Client, snapshot: Snapshot, edits: Edits, label: str) -> lsp.WorkspaceEdit:
    """A versioned edit, annotated with `label`, as far as the client knows versions and annotations."""
    changes = [(snapshot.range(edit.start, edit.end), _endings(snapshot, edit.new_text)) for edit in edits.edits]
    if not client.can("workspace.workspace_edit.document_changes"):
        return lsp.WorkspaceEdit(changes={snapshot.uri: [lsp.TextEdit(range, text) for range, text in changes]})
    document = lsp.OptionalVersionedTextDocumentIdentifier(snapshot.uri, snapshot.version)
    if not client.can("workspace.workspace_edit.change_annotation_support"):
        plain = [lsp.TextEdit(range, text) for range, text in changes]
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(document, plain)])
    annotated = [lsp.AnnotatedTextEdit(_ANNOTATION, range, text) for range, text in changes]
    return lsp.WorkspaceEdit(
        document_changes=[lsp.TextDocumentEdit(document, annotated)],
        change_annotations={_ANNOTATION: lsp.ChangeAnnotation(label=label, description=edits.summary or None)},
    )


async def apply(session: Session, uri: str, edits: Edits, label: str) -> Refusal | None:
    """None once the editor has made the edit; otherwise why nothing was changed."""
    snapshot = session.documents.get(uri)
    if snapshot is None:
        return Refusal("The file was closed meanwhile, so nothing was changed.")
    if snapshot.hash != edits.text_hash:
        return Refusal("The file was edited meanwhile, so nothing was changed.")
    params = lsp.ApplyWorkspaceEditParams(workspace_edit(session.client, snapshot, edits, label), label)
    try:
        answer = await session.server.workspace_apply_edit_async(params)
    except JsonRpcException as error:
        return Refusal(f"The editor did not take the edit: {error.message}.")
    if not answer.applied:
        why = f": {answer.failure_reason}" if answer.failure_reason else ""
        return Refusal(f"The editor did not take the edit, so nothing was changed{why}.")
    return None


def _endings(snapshot: Snapshot, text: str) -> str:
    return text.replace("\n", "\r\n") if snapshot.crlf else text
