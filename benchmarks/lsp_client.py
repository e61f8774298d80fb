"""An editor without a window: it speaks to `python -m kernelwright.lsp` over stdio and keeps the text as an editor does.

It needs no more than the server itself does, so that a scenario runs wherever the server runs.
"""

import asyncio
import collections
import os
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Union

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

import kernelwright
from kernelwright.lsp.positions import lines

_SERVER = str(Path(kernelwright.__file__).parents[1])  # in the server's path, so that nothing need be installed
PATIENCE = 120.0  # seconds until something is shown: a worker that imports torch on a busy machine takes its time

CAPABILITIES = lsp.ClientCapabilities(
    general=lsp.GeneralClientCapabilities(position_encodings=[lsp.PositionEncodingKind.Utf16]),
    window=lsp.WindowClientCapabilities(work_done_progress=True),
    workspace=lsp.WorkspaceClientCapabilities(
        apply_edit=True,
        configuration=True,
        workspace_edit=lsp.WorkspaceEditClientCapabilities(
            document_changes=True,
            change_annotation_support=lsp.ChangeAnnotationsSupportOptions(),
        ),
    ),
    text_document=lsp.TextDocumentClientCapabilities(
        publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(related_information=True),
        hover=lsp.HoverClientCapabilities(content_format=[lsp.MarkupKind.Markdown]),
        code_action=lsp.CodeActionClientCapabilities(
            code_action_literal_support=lsp.ClientCodeActionLiteralOptions(
                code_action_kind=lsp.ClientCodeActionKindOptions([lsp.CodeActionKind.QuickFix, "refactor"])
            ),
            is_preferred_support=True,
            disabled_support=True,
        ),
        code_lens=lsp.CodeLensClientCapabilities(),
    ),
)


class Window:
    """One server and what a person would see of it. `texts` are the open files; a time is seconds since the start."""

    def __init__(self, workspace: Path, settings: dict[str, object]) -> None:
        self.workspace = workspace
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.shown: dict[str, list[lsp.Diagnostic]] = {}
        self.messages: list[str] = []
        self.progress: list[tuple[float, str]] = []  # when, and what was said
        self.applied: list[lsp.ApplyWorkspaceEditParams] = []
        self.stderr: collections.deque[str] = collections.deque(maxlen=50)
        self.client = LanguageClient("kernelwright-window", "1")
        self._settings = settings
        self._began = time.monotonic()
        self._changed = asyncio.Event()
        self._listen()

    async def start(self, *command: str) -> lsp.InitializeResult:
        path = os.pathsep.join(filter(None, (_SERVER, os.environ.get("PYTHONPATH"))))
        await self.client.start_io(*command, cwd=str(self.workspace), env={**os.environ, "PYTHONPATH": path})
        self._reading = asyncio.create_task(self._read_stderr())
        folder = lsp.WorkspaceFolder(self.workspace.as_uri(), self.workspace.name)
        params = lsp.InitializeParams(CAPABILITIES, root_uri=folder.uri, workspace_folders=[folder])
        answer = await self.client.initialize_async(params)
        self.client.initialized(lsp.InitializedParams())
        return answer

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await asyncio.wait_for(self.client._server.wait(), PATIENCE)
        await self._reading
        await self.client.stop()

    # What a person does

    def open(self, name: str, text: str) -> str:
        uri = (self.workspace / name).as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = lsp.TextDocumentItem(uri, "python", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """Replace the first `old` by `new`."""
        start = self.texts[uri].index(old)
        self._change(uri, start, start + len(old), new)

    async def hover(self, uri: str, at: lsp.Position) -> str:
        answer = await self.client.text_document_hover_async(lsp.HoverParams(_document(uri), at))
        return answer.contents.value if answer else ""

    async def lenses(self, uri: str) -> list[lsp.CodeLens]:
        found = await self.client.text_document_code_lens_async(lsp.CodeLensParams(_document(uri)))
        return [await self.client.code_lens_resolve_async(lens) for lens in found or ()]

    async def actions(self, uri: str, where: lsp.Range, only: str) -> list[lsp.CodeAction]:
        about = [d for d in self.shown.get(uri, ()) if d.range.start.line == where.start.line]
        params = lsp.CodeActionParams(_document(uri), where, lsp.CodeActionContext(about, [only]))
        return list(await self.client.text_document_code_action_async(params) or ())

    async def choose(self, action: lsp.CodeAction) -> object:
        """Makes an action's edit, or runs its command and returns the answer."""
        if action.edit is not None:
            return self._make(action.edit)
        token = str(uuid.uuid4())  # without it a command from a menu is answered before its job has ended
        return await self.command(action.command.command, *action.command.arguments, token=token)

    async def command(self, name: str, *arguments: object, token: str | None = None):
        params = lsp.ExecuteCommandParams(name, list(arguments), work_done_token=token)
        return await self.client.workspace_execute_command_async(params)

    async def diagnostics(self, uri: str, wanted: Callable[[Sequence[lsp.Diagnostic]], object]) -> list[lsp.Diagnostic]:
        """What is shown of a file once it is as wanted. Raises TimeoutError with what was shown instead."""
        try:
            async with asyncio.timeout(PATIENCE):
                while uri not in self.shown or not wanted(self.shown[uri]):
                    await self._changed.wait()
        except TimeoutError:
            shown = [diagnostic.message for diagnostic in self.shown.get(uri, ())]
            raise TimeoutError(f"not within {PATIENCE:g} s; shown: {shown}; stderr: {[*self.stderr]}") from None
        return self.shown[uri]

    def elapsed(self) -> float:
        return time.monotonic() - self._began

    # The editor's side

    def _listen(self) -> None:
        # lsprotocol takes every item with a command for a Command, also a CodeAction that carries one.
        converter = self.client.protocol._converter
        for kind in (lsp.Command | lsp.CodeAction, Union[lsp.Command, lsp.CodeAction]):  # noqa: UP007
            converter.register_structure_hook(kind, lambda item, _: converter.structure(item, _action_type(item)))

        on = self.client.feature
        on(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._show(params))
        on(lsp.WINDOW_SHOW_MESSAGE)(lambda params: self.messages.append(params.message))
        on(lsp.WINDOW_LOG_MESSAGE)(lambda params: self.stderr.append(params.message))
        on(lsp.WINDOW_SHOW_MESSAGE_REQUEST)(lambda params: self.messages.append(params.message))
        on(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE)(lambda params: None)
        on(lsp.PROGRESS)(lambda params: self._said(params.value))
        on(lsp.CLIENT_REGISTER_CAPABILITY)(lambda params: None)
        on(lsp.WORKSPACE_CONFIGURATION)(lambda params: [self._settings for _ in params.items])
        on(lsp.WORKSPACE_APPLY_EDIT)(lambda params: self._apply(params))

    def _show(self, params: lsp.PublishDiagnosticsParams) -> None:
        self.shown[params.uri] = list(params.diagnostics)
        self._changed.set()
        self._changed = asyncio.Event()

    def _said(self, value: object) -> None:
        of = value.get if isinstance(value, dict) else lambda name: getattr(value, name, None)
        said = ": ".join(part for part in (of("title"), of("message")) if part)
        self.progress.append((self.elapsed(), said))

    def _apply(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        made = self._make(params.edit)
        if made:
            self.applied.append(params)
        return lsp.ApplyWorkspaceEditResult(made)

    def _make(self, edit: lsp.WorkspaceEdit) -> bool:
        """False, and nothing changed, for a version of the text that is gone."""
        documents = edit.document_changes or ()
        if any(one.text_document.version not in (None, self.versions[one.text_document.uri]) for one in documents):
            return False
        for document in documents:
            uri = document.text_document.uri
            index = lines(self.texts[uri])
            for change in sorted(document.edits, key=lambda edit: edit.range.start, reverse=True):
                start, end = (index.offset(place, "utf-16") for place in (change.range.start, change.range.end))
                self._change(uri, start, end, change.new_text)
        return True

    def _change(self, uri: str, start: int, end: int, new: str) -> None:
        text = self.texts[uri]
        where = lines(text).range(start, end, "utf-16")
        self.texts[uri], self.versions[uri] = text[:start] + new + text[end:], self.versions[uri] + 1
        document = lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        changes = [lsp.TextDocumentContentChangePartial(where, new)]
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, changes))

    async def _read_stderr(self) -> None:
        while line := await self.client._server.stderr.readline():
            self.stderr.append(line.decode(errors="replace").rstrip())


async def opened(
    workspace: Path,
    settings: dict[str, object],
    interpreter: str = sys.executable,
    program: Sequence[str] = ("-m", "kernelwright.lsp"),
) -> Window:
    """A window whose server, the `program` of the interpreter, has started."""
    window = Window(workspace, settings)
    await window.start(interpreter, *program)
    return window


def _document(uri: str) -> lsp.TextDocumentIdentifier:
    return lsp.TextDocumentIdentifier(uri)


def _action_type(item: dict) -> type[lsp.Command] | type[lsp.CodeAction]:
    return lsp.Command if isinstance(item.get("command"), str) else lsp.CodeAction
