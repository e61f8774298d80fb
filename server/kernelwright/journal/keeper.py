"""The connection of an open journal: short transactions, and a move into memory and back when the disk gives out."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kernelwright.journal.disk import BUSY_SECONDS, Disk, Write, damaged, in_memory, is_damage, transaction
from kernelwright.journal.schema import NewerSchema
from kernelwright.journal.words import out_of_reach, restored, unwritable, writable_again

T = TypeVar("T")

_SHORT = 0.2  # seconds to wait for another process where this is not the first try
_AGAIN = 1.0  # seconds between such tries while nothing is written


class Keeper:
    """What keeps the tables of one workspace; safe to call from several threads, and beside other processes.

    `persistent` is False while entries are kept in memory only; `notice` then says why, in one sentence, but where nothing
    was kept yet: the first entry begins the database. `disk` is None for a journal that stays in memory.
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
        self.connection = connection
        self.disk = disk
        self._lock = threading.RLock()
        self._unwritten: list[Write] = []  # what was done in memory and is not on disk yet, in order
        self._last_try = 0.0

    def rows(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """What a query finds; what is only in memory may go to disk before."""
        with self._lock:
            if self._unwritten and time.monotonic() - self._last_try > _AGAIN:
                self._return_to_disk(0.0)
            elif self._is_unbegun and self.disk is not None and self.disk.database.exists():
                self._return_to_disk(_SHORT)  # another process has begun it
            return self._tried(lambda connection: connection.execute(query, values).fetchall())

    def row(self, query: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        """The first of what a query finds."""
        rows = self.rows(query, values)
        return rows[0] if rows else None

    def write(self, write: Write) -> None:
        """One transaction. When the disk refuses it, everything moves into memory and the write happens there.

        What is only in memory is written to disk before the next write, or when the journal is closed, if that can be.
        """
        with self._lock:
            if not self.persistent:
                self._return_to_disk(_SHORT)
            elif self.disk is not None and self.disk.is_other():
                self._begin_anew()
            elif self.disk is not None and self.disk.is_cut_off():
                self.got_over(damaged())

            def written(connection: sqlite3.Connection) -> None:
                with transaction(connection):
                    write(connection)

            self._tried(written)
            if not self.persistent:
                self._unwritten.append(write)
            elif self.disk is not None:
                self.disk.also(write, self.connection)

    def _tried(self, deed: Callable[[sqlite3.Connection], T]) -> T:
        """The deed's result: on the database, else on what its copy restores, else in memory."""
        for _ in range(2):
            try:
                return deed(self.connection)
            except sqlite3.DatabaseError as error:
                if not self.got_over(error):
                    raise
        return deed(self.connection)

    def got_over(self, error: sqlite3.DatabaseError) -> bool:
        """Whether there is a connection that may do what the one before could not: to the copy's data, or in memory."""
        ours = isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.DataError)
        if ours or not self.persistent:
            return False
        if is_damage(error) and self.disk is not None:
            with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):
                connection, aside = self.disk.restored()
                self._use(connection)
                self.notice = restored(self.workspace, aside)
                return True
        self._move_into_memory(error)
        return True

    def _move_into_memory(self, error: sqlite3.DatabaseError) -> None:
        self._use(in_memory(self.connection.backup, *([self.disk.read_copy] if self.disk else [])))
        self.persistent = False
        self.notice = out_of_reach(self.workspace, error)

    @property
    def _is_unbegun(self) -> bool:
        """Whether it waits for its first entry, and nothing has gone wrong."""
        return not self.persistent and not self.notice

    def _return_to_disk(self, wait: float) -> None:
        """Write what is only in memory, all or nothing, and go on with the database; where that fails, so it stays.

        A database that was damaged meanwhile is replaced by its copy first.
        """
        self._last_try = time.monotonic()
        if self.disk is None:
            return
        begins = self._is_unbegun
        try:
            try:
                self._go_on_with(self.disk.open(BUSY_SECONDS if begins else wait))
                self.notice = "" if begins else writable_again(self.workspace)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                connection, aside = self.disk.restored()
                self._go_on_with(connection)
                self.notice = restored(self.workspace, aside)
        except (OSError, sqlite3.Error, NewerSchema) as error:
            if begins:
                self.notice = unwritable(self.disk.database, error)

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
        assert self.disk is not None
        with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):
            self._use(self.disk.open())

    def _use(self, connection: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()
        self.connection = connection

    def close(self) -> None:
        """Write what is only in memory, if that can be, and let go of the files."""
        with self._lock:
            if self._unwritten:
                self._return_to_disk(_SHORT)
            self.connection.close()
            if self.disk is not None:
                self.disk.close()
