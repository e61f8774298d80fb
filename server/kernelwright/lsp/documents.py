"""The open documents: our own copy of each text, changed as the client says."""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from kernelwright.lsp import positions
from kernelwright.lsp.snapshot import Snapshot


class Documents:
    def __init__(self) -> None:
        self._open: dict[str, Snapshot] = {}
        self._changed = asyncio.Event()

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> Snapshot | None:
        return self._open.get(uri)

    def open(self, item: lsp.TextDocumentItem, encoding: lsp.PositionEncodingKind | str) -> Snapshot:
        path = to_fs_path(item.uri) or item.uri
        crlf = "\r\n" in item.text
        return self.put(Snapshot(item.uri, path, item.language_id, item.version, _lf(item.text), encoding, crlf))

    def change(
        self, uri: str, version: int, changes: Sequence[lsp.TextDocumentContentChangeEvent]
    ) -> tuple[Snapshot, Snapshot] | None:
        """The document before and after the changes; None for one that is not open."""
        before = self._open.get(uri)
        if before is None:
            return None
        lines = before.lines
        for change in changes:
            lines = _changed(lines, change, before.encoding)
        about = (before.path, before.language_id, version, lines.text, before.encoding, before.crlf, before.kept)
        after = Snapshot(uri, *about)
        after.__dict__["lines"] = lines
        return before, self.put(after)

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)
        self._wake()

    async def wait_for_text(self, uri: str, text_hash: str, seconds: float) -> Snapshot | None:
        """The document once it has this text; None if it does not come to that in time, or is closed."""
        try:
            async with asyncio.timeout(seconds):
                return await self.wait_until(uri, lambda now: now is None or now.hash == text_hash)
        except TimeoutError:
            return None

    async def wait_until(self, uri: str, condition: Callable[[Snapshot | None], object]) -> Snapshot | None:
        """The document, None for a closed one, once `condition` holds of it; asked now and after every change."""
        while not condition(snapshot := self._open.get(uri)):
            await self._changed.wait()
        return snapshot

    def put(self, snapshot: Snapshot) -> Snapshot:
        """Take a snapshot as what its document is now."""
        self._open[snapshot.uri] = snapshot
        self._wake()
        return snapshot

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _changed(
    lines: positions.Lines, change: lsp.TextDocumentContentChangeEvent, encoding: lsp.PositionEncodingKind | str
) -> positions.Lines:
    if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
        return positions.lines(_lf(change.text))
    start = lines.offset(change.range.start, encoding)
    end = max(start, lines.offset(change.range.end, encoding))
    return lines.replaced(start, end, _lf(change.text))


def _lf(text: str) -> str:
    """Inside, lines end in LF: positions do not depend on it, and a rewrite need not know what the file uses."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
