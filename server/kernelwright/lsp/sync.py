"""Documents as they come and go: open, change, save, close, rename, delete."""

from lsprotocol import types as lsp

from kernelwright.lsp import diagnostics, kept, launched, restoring
from kernelwright.lsp.background import Background
from kernelwright.lsp.session import Session, is_in


class Sync:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._background = Background(session)

    def opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        snapshot = self._session.documents.open(params.text_document, self._session.client.encoding)
        kept.reread(self._session)
        snapshot = self._session.documents.get(snapshot.uri) or snapshot
        restoring.restore(self._session, snapshot)
        diagnostics.publish(self._session, snapshot.uri)
        self._background.opened(snapshot.uri)

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if self._session.documents.change(uri, params.text_document.version, params.content_changes) is not None:
            self._background.edited(uri)

    def saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        launched.outdate(self._session)
        kept.reread(self._session)
        self._background.saved(params.text_document.uri)

    def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Results stay: the file may be opened again unchanged."""
        self._close(params.text_document.uri)

    def renamed(self, params: lsp.RenameFilesParams) -> None:
        for file in params.files:
            self._session.renamed(file.old_uri, file.new_uri)
            self._gone(file.old_uri)
        kept.reread(self._session)
        for snapshot in self._session.documents:
            if any(is_in(snapshot.uri, file.new_uri) for file in params.files):
                restoring.restore(self._session, snapshot)
                diagnostics.publish(self._session, snapshot.uri)

    def deleted(self, params: lsp.DeleteFilesParams) -> None:
        for file in params.files:
            self._session.forget(file.uri)
            self._gone(file.uri)

    def _gone(self, place: str) -> None:
        """An editor may keep a document open whose file is no longer there: nothing is to be applied to it."""
        for snapshot in self._session.documents:
            if is_in(snapshot.uri, place):
                self._close(snapshot.uri)
        diagnostics.clear(self._session, place)

    def _close(self, uri: str) -> None:
        self._session.documents.close(uri)
        self._background.drop(uri)
        self._session.compiled.pop(uri, None)
        self._session.indices.pop(uri, None)
        self._session.launched.pop(uri, None)
        self._session.launching.pop(uri, None)
        diagnostics.clear(self._session, uri)
