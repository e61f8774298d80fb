"""The open journal: short transactions, and a move into memory when the disk gives out."""

import contextlib
import dataclasses
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from kernelwright.journal.texts import from_json, pack, to_json, unpack
from kernelwright.values import Graph, Outcome, Recipe, Step, digest

BUSY_SECONDS = 10.0


class Journal:
    """One workspace's journal; safe to call from several threads, and beside other processes.

    `persistent` is False once entries are kept in memory only; `notice` then says why, in one sentence. Paths may be
    absolute or relative to the workspace; they are stored relative to it.
    """

    def __init__(
        self, workspace: Path, connection: sqlite3.Connection, *, persistent: bool = True, notice: str = ""
    ) -> None:
        self.workspace = workspace
        self.persistent = persistent
        self.notice = notice
        self._connection = connection
        self._lock = threading.RLock()

    # Baselines and texts

    def baseline(self, path: str | Path, kernel: str) -> str | None:
        """The text that `kernel` is judged against, None before the first one is set."""
        row = self._row(
            "SELECT body FROM baselines JOIN texts ON texts.hash = text_hash WHERE path = ? AND kernel = ?",
            (self.relative(path), kernel),
        )
        return unpack(row[0]) if row else None

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
        row = self._row("SELECT body FROM texts WHERE hash = ?", (hash,))
        return unpack(row[0]) if row else None

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
            if step is None:
                return
            reverted = dataclasses.replace(step, outcome=Outcome.REVERTED)
            connection.execute(
                "UPDATE steps SET outcome = ?, value = ? WHERE id = ?",
                (Outcome.REVERTED.value, to_json(reverted), step_id),
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
            self._connection.close()

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
            return self._connection.execute(query, values).fetchall()

    def _row(self, query: str, values: tuple[object, ...]) -> tuple | None:
        rows = self._rows(query, values)
        return rows[0] if rows else None

    def _write(self, write: Callable[[sqlite3.Connection], object]) -> None:
        """One transaction. When the disk refuses it, everything moves into memory and the write happens there."""
        with self._lock:
            try:
                with _transaction(self._connection):
                    write(self._connection)
            except sqlite3.OperationalError as error:
                if not self.persistent:
                    raise
                self._move_into_memory(error)
                with _transaction(self._connection):
                    write(self._connection)

    def _move_into_memory(self, error: sqlite3.OperationalError) -> None:
        memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.backup(memory)
        self._connection.close()
        self._connection, self.persistent = memory, False
        self.notice = (
            f"The journal in {self.workspace} cannot be written any more ({why(error)}); what is on disk stays, "
            "new steps are kept in memory and end with the server."
        )


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """IMMEDIATE takes the write lock at once: a transaction that upgrades later could fail without waiting."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _keep(connection: sqlite3.Connection, text: str) -> str:
    hash = digest(text)
    connection.execute("INSERT OR IGNORE INTO texts (hash, body) VALUES (?, ?)", (hash, pack(text)))
    return hash


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
