"""The open journal: baselines, texts, steps and captured graphs of one workspace."""

import contextlib
import dataclasses
import functools
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from kernelwright.journal.disk import damaged
from kernelwright.journal.keeper import Keeper
from kernelwright.journal.recipes import recipe_of
from kernelwright.journal.texts import NOT_A_TEXT, from_json, pack, to_json, unpack
from kernelwright.journal.words import damaged_text, unreadable_step
from kernelwright.values import NOTHING_SPENT, Graph, KeptLines, Outcome, Recipe, Step, Usage, digest

_SPENT = ("calls", "tokens_in", "tokens_out", "dollars", "seconds")


class Journal:
    """One workspace's journal; safe to call from several threads, and beside other processes.

    `persistent` and `notice`: see Keeper. Paths may be absolute or relative to the workspace; they are stored relative to it.
    """

    def __init__(self, keeper: Keeper) -> None:
        self.workspace = keeper.workspace
        self._keeper = keeper

    @property
    def persistent(self) -> bool:
        return self._keeper.persistent

    @property
    def notice(self) -> str:
        return self._keeper.notice

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

        self._keeper.write(write)

    def drop_baseline(self, path: str | Path, kernel: str) -> None:
        """As before the first `set_baseline`: for a first step that did not reach the file after all."""
        self._keeper.write(
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

        self._keeper.write(write)

    def steps(self, path: str | Path, kernel: str | None = None) -> tuple[Step, ...]:
        """The Steps of a file, or of one Kernel in it, oldest first."""
        condition, values = ("", ()) if kernel is None else (" AND kernel = ?", (kernel,))
        rows = self._keeper.rows(
            f"SELECT value FROM steps WHERE path = ?{condition} ORDER BY number", (self.relative(path), *values)
        )
        return tuple(step for (value,) in rows if (step := self._step(value)) is not None)

    def last_step_for(self, path: str | Path, kernel: str, text_hash: str) -> Step | None:
        """The newest Step that led to this version of the text, whatever its outcome."""
        row = self._keeper.row(
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

        self._keeper.write(write)

    def rename(self, old: str | Path, new: str | Path) -> None:
        """What was kept for a file, or for those in a folder, is its under the new path.

        A file that is overwritten has no baselines and no lines any more, and its kept Steps stay in the history as reverted.
        """
        before, after = self.relative(old), self.relative(new)
        if before == after:
            return
        values = (after, len(before) + 1, before, before + "/", before + "0")  # "0" follows "/"

        def write(connection: sqlite3.Connection) -> None:
            for table in ("baselines", "lines"):
                connection.execute(f"DELETE FROM {table} WHERE path = ?", (after,))
            kept = "SELECT value FROM steps WHERE path = ? AND outcome = ?"
            for (value,) in connection.execute(kept, (after, Outcome.KEPT.value)).fetchall():
                if (step := self._step(value)) is not None:
                    _set_reverted(connection, step)
            for table in ("baselines", "steps", "lines"):
                connection.execute(
                    f"UPDATE OR REPLACE {table} SET path = ? || substr(path, ?) WHERE path = ? OR (path > ? AND path < ?)",
                    values,
                )

        self._keeper.write(write)

    def recipe(self, path: str | Path, kernel: str) -> Recipe:
        """The kept Steps that can be replayed on another text."""
        return recipe_of(kernel, self.steps(path, kernel))

    # Workload lines that are not in the files

    def keep_lines(self, path: str | Path, lines: KeptLines) -> None:
        """Keep the calls of entries in the place of those that were kept of them; none of an entry: forget them."""
        rows = [(self.relative(path), entry, to_json(calls), _now()) for entry, calls in lines]
        self._keeper.write(
            lambda connection: connection.executemany("INSERT OR REPLACE INTO lines VALUES (?, ?, ?, ?)", rows)
        )

    def lines(self, path: str | Path) -> KeptLines:
        """The calls that are kept for a file, by entry; what this version cannot read is left out."""
        query = "SELECT entry, value FROM lines WHERE path = ? ORDER BY entry"
        found = ((entry, _calls(value)) for entry, value in self._keeper.rows(query, (self.relative(path),)))
        return tuple((entry, calls) for entry, calls in found if calls)

    # What asking language models took

    def spend(self, model: str, usage: Usage) -> None:
        """Adds to what was spent on a model today (UTC); on disk when this returns."""
        spent = (_now()[:10], model, usage.calls, usage.tokens_in, usage.tokens_out, usage.dollars, usage.seconds)
        sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in _SPENT)
        self._keeper.write(
            lambda connection: connection.execute(
                f"INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, model) DO UPDATE SET {sums}",
                spent,
            )
        )

    def spent_today(self) -> Usage:
        """What was spent on all models since midnight UTC."""
        return self._spent("WHERE day = ?", (_now()[:10],)).get("", NOTHING_SPENT)

    def spent(self) -> dict[str, Usage]:
        """What was spent on each model in this workspace, ever."""
        return self._spent("GROUP BY model", (), "model")

    def _spent(self, condition: str, values: tuple[object, ...], name: str = "''") -> dict[str, Usage]:
        sums = ", ".join(f"sum({column})" for column in _SPENT)
        rows = self._keeper.rows(f"SELECT {name}, {sums} FROM spending {condition}", values)
        return {model: Usage(*sums) for model, *sums in rows if sums[0] is not None}

    # Captured graphs, a cache: an entry that this version cannot read is as good as none

    def put_graph(self, text_hash: str, workload_hash: str, graph: Graph) -> None:
        self._keeper.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO graphs (text_hash, workload_hash, value) VALUES (?, ?, ?)",
                (text_hash, workload_hash, to_json(graph)),
            )
        )

    def graph(self, text_hash: str, workload_hash: str) -> Graph | None:
        row = self._keeper.row(
            "SELECT value FROM graphs WHERE text_hash = ? AND workload_hash = ?", (text_hash, workload_hash)
        )
        if row is None:
            return None
        try:
            graph: Graph = from_json(Graph, row[0])
        except ValueError:
            return None
        return graph

    # The connection

    def relative(self, path: str | Path) -> str:
        """`path` as stored: relative to the workspace with forward slashes; as it is when it lies elsewhere."""
        root = os.path.abspath(self.workspace)
        if within := _within(root, os.path.join(root, path)):
            return within
        root = os.path.realpath(root)
        return _within(root, os.path.realpath(os.path.join(root, path))) or Path(path).as_posix()

    def close(self) -> None:
        self._keeper.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _step(self, value: str) -> Step | None:
        try:
            step: Step = from_json(Step, value)
        except ValueError as error:
            self._keeper.notice = unreadable_step(error)
            return None
        return step

    def _text(self, query: str, values: tuple[object, ...]) -> str | None:
        """The text that a query for its hash and body finds, if it is what was written."""
        for last in (False, True):
            row = self._keeper.row(query, values)
            if row is None:
                return None
            with contextlib.suppress(*NOT_A_TEXT):
                if digest(text := unpack(row[1])) == row[0]:
                    return text
            if last or not self._keeper.got_over(damaged()):
                break
        self._keeper.notice = damaged_text(self.workspace)
        return None


@functools.lru_cache(maxsize=256)  # asked for twice at each hover
def _within(root: str, path: str) -> str:
    """The path from a folder to a file in it, with forward slashes; "" for one that lies elsewhere."""
    folder, file = Path(root), Path(os.path.abspath(path))
    return file.relative_to(folder).as_posix() if file.is_relative_to(folder) else ""


def _keep(connection: sqlite3.Connection, text: str) -> str:
    hash = digest(text)
    connection.execute("INSERT OR IGNORE INTO texts (hash, body) VALUES (?, ?)", (hash, pack(text)))
    return hash


def _calls(value: str) -> tuple[str, ...]:
    try:
        calls: tuple[str, ...] = from_json(tuple[str, ...], value)
    except ValueError:
        return ()
    return calls


def _set_reverted(connection: sqlite3.Connection, step: Step) -> None:
    reverted = dataclasses.replace(step, outcome=Outcome.REVERTED)
    connection.execute(
        "UPDATE steps SET outcome = ?, value = ? WHERE id = ?", (Outcome.REVERTED.value, to_json(reverted), step.id)
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
