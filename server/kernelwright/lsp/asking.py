"""Questions about documents that take long and are answered in other processes."""

import asyncio
from collections.abc import Callable, Coroutine

from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot


class Asking:
    """At most one question for each document: a newer one ends the older."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._asking: dict[str, asyncio.Task[None]] = {}

    def ask(self, uri: str, question: Callable[[Session, Snapshot], Coroutine[object, object, None]]) -> None:
        """Ask about the document as it is now."""
        snapshot = self._session.documents.get(uri)
        if snapshot is None or not self._session.settings.findings:
            return
        self.drop(uri)
        self._asking[uri] = self._session.spawn(question(self._session, snapshot))

    def drop(self, uri: str) -> None:
        """End the question about a document, if there is one."""
        asking = self._asking.pop(uri, None)
        if asking is not None:
            asking.cancel()
