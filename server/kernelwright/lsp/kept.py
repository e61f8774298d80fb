"""Workload lines that the journal keeps, in the documents that they are for."""

import dataclasses
from collections.abc import Iterable

from kernelwright.lsp import diagnostics
from kernelwright.lsp.indices import examine
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import KeptLines, Refusal


def reread(session: Session) -> None:
    """Have all documents with kernels know the lines that the journal has now."""
    session.kept.clear()
    for snapshot in session.documents:
        if snapshot.kernels and (lines := session.kept_lines(snapshot.path)) != snapshot.kept:
            known = dataclasses.replace(snapshot, kept=lines)
            session.documents.put(known)
            diagnostics.publish(session, snapshot.uri)
            if snapshot.uri in session.indices:  # else they are still being examined
                session.spawn(examine(session, known))


def keep(session: Session, found: Iterable[tuple[Snapshot, Iterable[str]]]) -> Refusal | None:
    """Have the journal keep calls of each document; why not, where all of them have lines of their own."""
    from kernelwright import recording

    lines = [(one, recording.lines_for(one.text, calls, one.support)) for one, calls in found]
    if not any(kept for _, kept in lines):
        return Refusal(
            "The files have workload lines of their own for what was called, and these win over the journal's."
        )
    for one, kept in lines:
        _write(session, one, kept)
    reread(session)
    entries = ", ".join(dict.fromkeys(entry for _, kept in lines for entry, _ in kept))
    session.client.tell(f"The journal keeps the workload lines of {entries}.")
    return None


def forget(session: Session, snapshot: Snapshot, entry: str) -> None:
    """Have the journal forget what it keeps of an entry."""
    _write(session, snapshot, ((entry, ()),))
    reread(session)


def _write(session: Session, snapshot: Snapshot, lines: KeptLines) -> None:
    session.engine(snapshot.path).journal.keep_lines(snapshot.path, lines)
    session.notice()
