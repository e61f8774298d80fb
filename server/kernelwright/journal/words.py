"""What is said when a journal cannot be written, was restored, or holds what cannot be read: one sentence each."""

import sqlite3
from pathlib import Path

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_BUSY: "another process holds it",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_NOTADB: "it is not a database; move it away to start a new one",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away to start a new one",
}


def unwritable(database: Path, error: Exception) -> str:
    """What is said when a journal cannot be begun or opened."""
    reason = why(error) if isinstance(error, sqlite3.Error) else getattr(error, "strerror", None) or str(error)
    return (
        f"The journal cannot be written to {database} ({reason}); steps are kept in memory until it can be, and end with "
        "the server."
    )


def restored(workspace: Path, aside: Path) -> str:
    """What is said when the copy has taken the place of a damaged database."""
    return (
        f"The journal in {workspace} was damaged and was restored from its copy; the damaged one is now {aside.name}."
    )


def out_of_reach(workspace: Path, error: sqlite3.Error) -> str:
    """What is said when an open journal has moved into memory."""
    return (
        f"The journal in {workspace} cannot be written any more ({why(error)}); what is on disk stays, "
        "new steps are kept in memory until it can be written again, and end with the server."
    )


def writable_again(workspace: Path) -> str:
    return f"The journal in {workspace} can be written again; nothing was lost."


def damaged_text(workspace: Path) -> str:
    return f"The journal in {workspace} holds a text that is damaged, and leaves it out."


def unreadable_step(error: ValueError) -> str:
    return f"The journal holds a step that this version cannot read, and leaves it out: {error}"[:300]


def why(error: sqlite3.Error) -> str:
    """The reason of an SQLite error in a few words. Extended codes carry the primary one in their low byte."""
    return _REASONS.get(getattr(error, "sqlite_errorcode", -1) & 0xFF, str(error))
