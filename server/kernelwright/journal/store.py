"""The open journal: short transactions, and a move into memory when the disk gives out."""

import contextlib
import dataclasses
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from kernelwright.journal.disk import BUSY_SECONDS, Disk, Write, damaged, in_memory, is_damage, transaction
from kernelwright.journal.schema import NewerSchema
from kernelwright.journal.texts import NOT_A_TEXT, from_json, pack, to_json, unpack
from kernelwright.values import Graph, Outcome, Recipe, Step, digest

T = TypeVar("T")

_SHORT = 0.2  # seconds to wait for another process where this is not the first try
_AGAIN = 1.0  # seconds between such tries while nothing is written


class Journal:
    """One workspace's journal; safe to call from several threads, and beside other processes.

    `persistent` is False while entries are kept in memory only; `notice` then says why, in one sentence, but where nothing
    was kept yet: the first entry begins the database. Paths may be absolute or relative to the workspace; they are stored
    relative to it.
    """

    def __init__(
        self,
        workspace: Path,
        connection: sqlite3.Connection,
        *,
        persistent: bool = True,
        notice: str = "",
        disk: Disk | None = None,
    ) -> None:
        self.workspace = workspace
        self.persistent = persistent
        self.notice = notice
        self._connection = connection
        self._lock = threading.RLock()
        self._disk = disk  # None for a journal that stays in memory
        self._unwritten: list[Write] = []  # what was done in memory and is not on disk yet, in order
        self._last_try = 0.0

    # Baselines and texts

    def baseline(self, path: str | Path, kernel: str) -> str | None:
        """The text that `kernel` is judged against, None before the first one is set."""
        return self._text(
            "SELECT hash, body FROM baselines JOIN texts ON texts.hash = text_hash WHERE path = ? AND kernel = ?",
            (self.relative(path), kernel),
        )

    def set_baseline(self, path: str | Path, kernel: str, text: str) -> None:
        def write(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO baselines (path, kernel, text_hash, set_at) VALUES (?, ?, ?, ?)",
                (self.relative(path), kernel, _keep(connection, text), _now()),
            )

        self._write(write)

    def drop_baseline(self, path: str | Path, kernel: str) -> None:
        """As before the first `set_baseline`: for a first step that did not reach the file after all."""
        self._write(
            lambda connection: connection.execute(
                "DELETE FROM baselines WHERE path = ? AND kernel = ?", (self.relative(path), kernel)
            )
        )

    def text(self, hash: str) -> str | None:
        return self._text("SELECT hash, body FROM texts WHERE hash = ?", (hash,))

    # Steps

    def add_step(self, path: str | Path, step: Step, before_text: str, after_text: str) -> None:
        """Keep `step` and both texts, all or nothing; on disk when this returns. The same id again replaces the Step."""

        def write(connection: sqlite3.Connection) -> None:
            before, after = _keep(connection, before_text), _keep(connection, after_text)
            connection.execute(
                """INSERT INTO steps (id, path, kernel, before_hash, after_hash, strategy, outcome, created, value)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                   ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, value = excluded.value,
                       before_hash = excluded.before_hash, after_hash = excluded.after_hash""",
                (
                    step.id,
                    self.relative(path),
                    step.kernel,
                    before,
                    after,
                    step.action.strategy,
                    step.outcome.value,
                    step.created or _now(),
                    to_json(step),
                ),
            )

        self._write(write)

    def steps(self, path: str | Path, kernel: str | None = None) -> tuple[Step, ...]:
        """The Steps of a file, or of one Kernel in it, oldest first."""
        condition, values = ("", ()) if kernel is None else (" AND kernel = ?", (kernel,))
        rows = self._rows(
            f"SELECT value FROM steps WHERE path = ?{condition} ORDER BY number", (self.relative(path), *values)
        )
        return tuple(step for (value,) in rows if (step := self._step(value)) is not None)

    def last_step_for(self, path: str | Path, kernel: str, text_hash: str) -> Step | None:
        """The newest Step that led to this version of the text, whatever its outcome."""
        row = self._row(
            "SELECT value FROM steps WHERE path = ? AND kernel = ? AND after_hash = ? ORDER BY number DESC LIMIT 1",
            (self.relative(path), kernel, text_hash),
        )
        return self._step(row[0]) if row else None

    def mark_reverted(self, step_id: str) -> None:
        """The Step stays in the history with the outcome "reverted". An unknown id changes nothing."""

        def write(connection: sqlite3.Connection) -> None:
            row = connection.execute("SELECT value FROM steps WHERE id = ?", (step_id,)).fetchone()
            step = self._step(row[0]) if row else None
            if step is not None:
                _set_reverted(connection, step)

        self._write(write)

    def rename(self, old: str | Path, new: str | Path) -> None:
        """What was kept for a file, or for those in a folder, is its under the new path.

        A file that is overwritten has no baselines any more, and its kept Steps stay in the history as reverted.
        """
        before, after = self.relative(old), self.relative(new)
        if before == after:
            return
        values = (after, len(before) + 1, before, before + "/", before + "0")  # "0" follows "/"

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM baselines WHERE path = ?", (after,))
            kept = "SELECT value FROM steps WHERE path = ? AND outcome = ?"
            for (value,) in connection.execute(kept, (after, Outcome.KEPT.value)).fetchall():
                if (step := self._step(value)) is not None:
                    _set_reverted(connection, step)
            for table in ("baselines", "steps"):
                connection.execute(
                    f"UPDATE {table} SET path = ? || substr(path, ?) WHERE path = ? OR (path > ? AND path < ?)",
                    values,
                )

        self._write(write)

    def recipe(self, path: str | Path, kernel: str) -> Recipe:
        kept = (step for step in self.steps(path, kernel) if step.outcome is Outcome.KEPT)
        return Recipe(kernel, tuple(step.action for step in kept))

    # Captured graphs, a cache: an entry that this version cannot read is as good as none

    def put_graph(self, text_hash: str, workload_hash: str, graph: Graph) -> None:
        self._write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO graphs (text_hash, workload_hash, value) VALUES (?, ?, ?)",
                (text_hash, workload_hash, to_json(graph)),
            )
        )

    def graph(self, text_hash: str, workload_hash: str) -> Graph | None:
        row = self._row(
            "SELECT value FROM graphs WHERE text_hash = ? AND workload_hash = ?", (text_hash, workload_hash)
        )
        if row is None:
            return None
        try:
            return from_json(Graph, row[0])
        except ValueError:
            return None

    # The connection

    def relative(self, path: str | Path) -> str:
        """`path` as stored: relative to the workspace with forward slashes; as it is when it lies elsewhere."""
        for resolve in (os.path.abspath, os.path.realpath):
            root = Path(resolve(self.workspace))
            absolute = Path(resolve(root / path))
            if absolute.is_relative_to(root):
                return absolute.relative_to(root).as_posix()
        return Path(path).as_posix()

    def close(self) -> None:
        with self._lock:
            if self._unwritten:
                self._return_to_disk(_SHORT)
            self._connection.close()
            if self._disk is not None:
                self._disk.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _step(self, value: str) -> Step | None:
        try:
            return from_json(Step, value)
        except ValueError as error:
            self.notice = f"The journal holds a step that this version cannot read, and leaves it out: {error}"[:300]
            return None

    def _rows(self, query: str, values: tuple[object, ...]) -> list[tuple]:
        with self._lock:
            if self._unwritten and time.monotonic() - self._last_try > _AGAIN:
                self._return_to_disk(0.0)
            elif self._is_unbegun and self._disk is not None and self._disk.database.exists():
                self._return_to_disk(_SHORT)  # another process has begun it
            return self._tried(lambda connection: connection.execute(query, values).fetchall())

    def _row(self, query: str, values: tuple[object, ...]) -> tuple | None:
        rows = self._rows(query, values)
        return rows[0] if rows else None

    def _text(self, query: str, values: tuple[object, ...]) -> str | None:
        """The text that a query for its hash and body finds, if it is what was written."""
        for last in (False, True):
            row = self._row(query, values)
            if row is None:
                return None
            with contextlib.suppress(*NOT_A_TEXT):
                if digest(text := unpack(row[1])) == row[0]:
                    return text
            if last or not self._got_over(damaged()):
                break
        self.notice = f"The journal in {self.workspace} holds a text that is damaged, and leaves it out."
        return None

    def _write(self, write: Write) -> None:
        """One transaction. When the disk refuses it, everything moves into memory and the write happens there.

        What is only in memory is written to disk before the next write, or when the journal is closed, if that can be.
        """
        with self._lock:
            if not self.persistent:
                self._return_to_disk(_SHORT)
            elif self._disk is not None and self._disk.is_other():
                self._begin_anew()
            elif self._disk is not None and self._disk.is_cut_off():
                self._got_over(damaged())

            def written(connection: sqlite3.Connection) -> None:
                with transaction(connection):
                    write(connection)

            self._tried(written)
            if not self.persistent:
                self._unwritten.append(write)
            elif self._disk is not None:
                self._disk.also(write, self._connection)

    def _tried(self, deed: Callable[[sqlite3.Connection], T]) -> T:
        """The deed's result: on the database, else on what its copy restores, else in memory."""
        for _ in range(2):
            try:
                return deed(self._connection)
            except sqlite3.DatabaseError as error:
                if not self._got_over(error):
                    raise
        return deed(self._connection)

    def _got_over(self, error: sqlite3.DatabaseError) -> bool:
        """Whether there is a connection that may do what the one before could not: to the copy's data, or in memory."""
        ours = isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.DataError)
        if ours or not self.persistent:
            return False
        if is_damage(error) and self._disk is not None:
            with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):
                connection, aside = self._disk.restored()
                self._use(connection)
                self.notice = restored(self.workspace, aside)
                return True
        self._move_into_memory(error)
        return True

    def _move_into_memory(self, error: sqlite3.DatabaseError) -> None:
        self._use(in_memory(self._connection.backup, *([self._disk.read_copy] if self._disk else [])))
        self.persistent = False
        self.notice = (
            f"The journal in {self.workspace} cannot be written any more ({why(error)}); what is on disk stays, "
            "new steps are kept in memory until it can be written again, and end with the server."
        )

    @property
    def _is_unbegun(self) -> bool:
        """Whether it waits for its first entry, and nothing has gone wrong."""
        return not self.persistent and not self.notice

    def _return_to_disk(self, wait: float) -> None:
        """Write what is only in memory, all or nothing, and go on with the database; where that fails, so it stays.

        A database that was damaged meanwhile is replaced by its copy first.
        """
        self._last_try = time.monotonic()
        if self._disk is None:
            return
        begins = self._is_unbegun
        try:
            try:
                self._go_on_with(self._disk.open(BUSY_SECONDS if begins else wait))
                again = f"The journal in {self.workspace} can be written again; nothing was lost."
                self.notice = "" if begins else again
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                connection, aside = self._disk.restored()
                self._go_on_with(connection)
                self.notice = restored(self.workspace, aside)
        except (OSError, sqlite3.Error, NewerSchema) as error:
            if begins:
                self.notice = unwritable(self._disk.database, error)

    def _go_on_with(self, connection: sqlite3.Connection) -> None:
        """Write there what is only in memory, and everything from now on. Raises sqlite3.Error, and then nothing changes."""
        try:
            with transaction(connection):
                for write in self._unwritten:
                    write(connection)
        except BaseException:
            connection.close()
            raise
        self._use(connection)
        self.persistent, self._unwritten = True, []

    def _begin_anew(self) -> None:
        """The file was removed or replaced: what is in its place, or an empty one, is the journal from now on."""
        assert self._disk is not None
        with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):
            self._use(self._disk.open())

    def _use(self, connection: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._connection = connection


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


def _keep(connection: sqlite3.Connection, text: str) -> str:
    hash = digest(text)
    connection.execute("INSERT OR IGNORE INTO texts (hash, body) VALUES (?, ?)", (hash, pack(text)))
    return hash


def _set_reverted(connection: sqlite3.Connection, step: Step) -> None:
    reverted = dataclasses.replace(step, outcome=Outcome.REVERTED)
    connection.execute(
        "UPDATE steps SET outcome = ?, value = ? WHERE id = ?", (Outcome.REVERTED.value, to_json(reverted), step.id)
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_BUSY: "another process holds it",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_NOTADB: "it is not a database; move it away to start a new one",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it away to start a new one",
}


def why(error: sqlite3.Error) -> str:
    """The reason of an SQLite error in a few words. Extended codes carry the primary one in their low byte."""
    return _REASONS.get(getattr(error, "sqlite_errorcode", -1) & 0xFF, str(error))
