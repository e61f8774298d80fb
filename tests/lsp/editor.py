"""An editor for tests: drives the real server over stdio as a real editor does, and keeps the text as one does."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Union

from lsprotocol import types as lsp
from pygls.uris import to_fs_path
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import make_test_lsp_client

import warm
from kernelwright.lsp.positions import lines

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds, for a worker that has to import torch on a busy machine
SETTINGS: dict[str, object] = {"threads": 1, "timingBudget": 0.2}


class Editor:
    """One window with a server of its own. `texts` are the open files as the user sees them, in `folder` of `workspace`."""

    def __init__(self, client: LanguageClient, workspace: Path) -> None:
        self.client = client
        self.workspace = self.folder = workspace
        self.encoding: str = "utf-16"
        self._settings = dict(SETTINGS)
        self._begin()
        self._register()

    def _begin(self) -> None:
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.applied: list[lsp.ApplyWorkspaceEditParams] = []
        self.asked: list[lsp.ShowMessageRequestParams] = []
        self.answers: list[str | None] = []  # to showMessageRequest, first one first
        self.refuse_edits = False
        self.answering = asyncio.Event()  # while it is not set, edits and questions wait
        self.answering.set()

    def _register(self) -> None:
        @self.client.feature(lsp.WORKSPACE_APPLY_EDIT)
        async def _(params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
            if self.refuse_edits:
                return lsp.ApplyWorkspaceEditResult(applied=False, failure_reason="the editor said no")
            self.applied.append(params)
            await self.answering.wait()
            return lsp.ApplyWorkspaceEditResult(applied=self.make(params.edit))

        @self.client.feature(lsp.WINDOW_SHOW_MESSAGE_REQUEST)
        async def _(params: lsp.ShowMessageRequestParams) -> lsp.MessageActionItem | None:
            self.asked.append(params)
            await self.answering.wait()
            answer = self.answers.pop(0) if self.answers else None
            return lsp.MessageActionItem(answer) if answer else None

        # lsprotocol takes every item with a command for a Command, also a CodeAction that carries one.
        self.client.protocol._converter.register_structure_hook(lsp.Command | lsp.CodeAction, self._action)
        self.client.protocol._converter.register_structure_hook(Union[lsp.Command, lsp.CodeAction], self._action)  # noqa: UP007

        for refresh in (lsp.WORKSPACE_CODE_LENS_REFRESH, lsp.WORKSPACE_INLAY_HINT_REFRESH):
            self.client.feature(refresh)(lambda params=None: None)

        @self.client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def _(params: lsp.RegistrationParams) -> None:
            return None

    def _action(self, item: dict, _: type) -> lsp.Command | lsp.CodeAction:
        kind = lsp.Command if isinstance(item.get("command"), str) else lsp.CodeAction
        return self.client.protocol._converter.structure(item, kind)

    # What a person does

    def move_to(self, folder: Path) -> None:
        """Close all files, forget what was shown and asked, and open files in another folder of the workspace."""
        for uri in list(self.texts):
            self.close(uri)
        self._begin()
        for shown in (self.client.messages, self.client.diagnostics, self.client.progress_reports):
            shown.clear()
        folder.mkdir()
        self.folder = folder

    async def configure(self, **settings: object) -> None:
        """Change these settings, and put back all others; the server has them when it answers what is asked behind."""
        wanted = {**SETTINGS, **settings}
        if wanted == self._settings:
            return
        self._settings = wanted
        self.client.set_configuration(wanted, section="kernelwright")
        self.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
        nowhere = lsp.HoverParams(lsp.TextDocumentIdentifier("file:///nowhere.py"), lsp.Position(0, 0))
        for _ in range(2):  # it asks for the settings before the first answer, and reads them before the second
            await self.client.text_document_hover_async(nowhere)

    def open(self, name: str, text: str, language_id: str = "python") -> str:
        uri = (self.folder / name).as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = lsp.TextDocumentItem(uri=uri, language_id=language_id, version=1, text=text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri

    def type(self, uri: str, old: str, new: str) -> None:
        """Replace the first `old` by `new`, sent as a change of just that range."""
        start = self.texts[uri].index(old)
        self._change(uri, start, start + len(old), new)

    def close(self, uri: str) -> None:
        del self.texts[uri]
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))

    def rename(self, uri: str, name: str) -> str:
        """As editors do it: the file is closed, opened under its new name, and then told to have been renamed."""
        text = self.texts[uri]
        self.close(uri)
        new = self.open(name, text)
        self.client.workspace_did_rename_files(lsp.RenameFilesParams([lsp.FileRename(uri, new)]))
        return new

    def save(self, uri: str) -> None:
        self.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))

    async def hover(self, uri: str, at: str) -> str:
        params = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), self.position(uri, at))
        answer = await self.client.text_document_hover_async(params)
        return answer.contents.value if answer else ""

    async def completions(self, uri: str, at: str, further: int) -> list[lsp.CompletionItem]:
        """Those offered so many characters behind the beginning of `at`."""
        start = self.position(uri, at)
        position = lsp.Position(start.line, start.character + further)
        params = lsp.CompletionParams(lsp.TextDocumentIdentifier(uri), position)
        found = await self.client.text_document_completion_async(params)
        return list(found.items if isinstance(found, lsp.CompletionList) else found or ())

    async def actions(self, uri: str, at: str, *only: str) -> list[lsp.CodeAction]:
        where = lsp.Range(self.position(uri, at), self.position(uri, at))
        shown = [d for d in self.client.diagnostics.get(uri, ()) if d.range.start.line == where.start.line]
        context = lsp.CodeActionContext(shown, only=list(only) or None)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), where, context)
        return list(await self.client.text_document_code_action_async(params) or ())

    async def lenses(self, uri: str) -> list[lsp.CodeLens]:
        found = await self.client.text_document_code_lens_async(lsp.CodeLensParams(lsp.TextDocumentIdentifier(uri)))
        return [await self.client.code_lens_resolve_async(lens) for lens in found or ()]

    async def command(self, name: str, *arguments: object, token: str | None = None):
        if token is not None:
            self.client.progress_reports.setdefault(token, [])
        params = lsp.ExecuteCommandParams(name, list(arguments), work_done_token=token)
        return await self.client.workspace_execute_command_async(params)

    # What a test looks at

    def position(self, uri: str, at: str) -> lsp.Position:
        text = self.texts[uri]
        return lines(text).position(text.index(at), self.encoding)

    def marked(self, uri: str, diagnostic: lsp.Diagnostic) -> str:
        """The text under a diagnostic."""
        index = lines(self.texts[uri])
        start, end = (index.offset(p, self.encoding) for p in (diagnostic.range.start, diagnostic.range.end))
        return self.texts[uri][start:end]

    def messages(self) -> list[str]:
        return [message.message for message in self.client.messages]

    def progress(self) -> list[object]:
        return [value for reports in self.client.progress_reports.values() for value in reports]

    async def diagnostics(
        self, uri: str, wanted: Callable[[list[lsp.Diagnostic]], bool] = lambda _: True, seconds: float = PATIENCE
    ) -> list[lsp.Diagnostic]:
        """What is shown of a file once it is as wanted. Raises TimeoutError with what was shown instead."""
        await self.until(lambda: uri in self.client.diagnostics and wanted(list(self.client.diagnostics[uri])), seconds)
        return list(self.client.diagnostics[uri])

    async def until(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not condition():
            if asyncio.get_running_loop().time() > deadline:
                shown = {uri: [d.message for d in found] for uri, found in self.client.diagnostics.items()}
                raise TimeoutError(f"not within {seconds} s; shown: {shown}; messages: {self.messages()}")
            await asyncio.sleep(0.01)

    # The editor's side of an edit

    def make(self, edit: lsp.WorkspaceEdit) -> bool:
        """Applies an edit the way an editor does; False, and nothing changed, for a version that is gone."""
        changes: list[tuple[str, list[lsp.TextEdit]]] = list((edit.changes or {}).items())
        for document in edit.document_changes or ():
            identifier = document.text_document
            if identifier.version is not None and identifier.version != self.versions[identifier.uri]:
                return False
            changes.append((identifier.uri, document.edits))
        for uri, edits in changes:
            if uri not in self.texts:  # an editor opens it for the edit
                self.texts[uri], self.versions[uri] = Path(to_fs_path(uri) or "").read_text(encoding="utf-8"), 0
            index = lines(self.texts[uri])
            spans = [
                (*(index.offset(p, self.encoding) for p in (e.range.start, e.range.end)), e.new_text) for e in edits
            ]
            for start, end, new in sorted(spans, reverse=True):
                self._change(uri, start, end, new)
        return True

    def _change(self, uri: str, start: int, end: int, new: str) -> None:
        text = self.texts[uri]
        where = lines(text).range(start, end, self.encoding)
        self.texts[uri], self.versions[uri] = text[:start] + new + text[end:], self.versions[uri] + 1
        document = lsp.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        change = lsp.TextDocumentContentChangePartial(range=where, text=new)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))


async def start(workspace: Path, spec: str = "visual_studio_code", cold: bool = False, **settings: object) -> Editor:
    """A server with the capabilities of the editor that `spec` names; settings as that editor would be asked for them.

    The workers of a `cold` one are its children, and start by themselves (see tests/warm.py).
    """
    return await start_with(workspace, client_capabilities(spec), cold, **settings)


async def start_with(
    workspace: Path, capabilities: lsp.ClientCapabilities, cold: bool = False, **settings: object
) -> Editor:
    client = make_test_lsp_client()
    editor = Editor(client, workspace)
    client.set_configuration({**SETTINGS, **settings}, section="kernelwright")
    command = ("-m", "kernelwright.lsp") if cold else warm.module("kernelwright.lsp")
    await client.start_io(sys.executable, *command, cwd=str(workspace))
    folder = lsp.WorkspaceFolder(workspace.as_uri(), workspace.name)
    params = lsp.InitializeParams(
        client_info=lsp.ClientInfo("Editor of the tests"),
        capabilities=capabilities,
        root_uri=folder.uri,
        workspace_folders=[folder],
    )
    answer = await client.initialize_session(params)
    editor.encoding = answer.capabilities.position_encoding or "utf-16"
    return editor


async def stop(editor: Editor) -> None:
    await editor.client.shutdown_session()
    await editor.client.stop()
