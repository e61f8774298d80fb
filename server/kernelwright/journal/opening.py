"""Opens the journal of a workspace; what cannot be kept on disk is kept in memory, and says so in one sentence."""

import os
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

from kernelwright.journal.schema import NewerSchema, migrate
from kernelwright.journal.store import BUSY_SECONDS, Journal, why
from kernelwright.values import Refusal

FOLDER = ".kernelwright"
DATABASE = "journal.db"


def open_journal(workspace: Path) -> Journal | Refusal:
    """The journal in `workspace/.kernelwright/`, made when absent.

    A folder that cannot be written, a full disk, a damaged database and one written by a newer version give a journal in
    memory (`persistent` False) whose `notice` says why; where the old entries can be read they are there. Only a
    workspace that is no folder is refused.
    """
    if not workspace.is_dir():
        return Refusal(f"There is no journal, because the workspace {workspace} is not a folder.")
    database = workspace / FOLDER / DATABASE
    try:
        _make_folder(database.parent)
        return Journal(workspace, _connect(database))
    except NewerSchema as error:
        return _in_memory(
            workspace,
            f"{database} was written by a newer Kernelwright ({error}); update it to see the history. "
            "Until then steps are kept in memory only.",
        )
    except OSError as error:
        return _in_memory(workspace, _notice(database, error.strerror or str(error)), database)
    except sqlite3.DatabaseError as error:
        return _in_memory(workspace, _notice(database, why(error)), database)


def is_begun(workspace: Path) -> bool:
    """Whether anything was kept in this workspace: opening a journal would begin one."""
    return (workspace / FOLDER / DATABASE).exists()


def open_in_memory(workspace: Path, notice: str = "Steps are kept in memory and end with this run.") -> Journal:
    """A journal that leaves nothing on disk, knowing what the workspace's own one holds."""
    database = workspace / FOLDER / DATABASE
    return _in_memory(workspace, notice, database if database.exists() else None)


def _notice(database: Path, reason: str) -> str:
    return f"The journal cannot be written to {database} ({reason}); steps are kept in memory and end with the server."


def _make_folder(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def _connect(database: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        database, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    try:
        _write_ahead(connection)
        # Steps are rare and dear: FULL also keeps the last one when the power fails.
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection)
        _try_to_write(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL. SQLite does not wait for another process that is switching at the same time, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _try_to_write(connection: sqlite3.Connection) -> None:
    """A database that was once made and is now read-only opens without a word; find out now."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("ROLLBACK")


def _in_memory(workspace: Path, notice: str, old: Path | None = None) -> Journal:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if old is not None:
        _read_old(old, connection)
    migrate(connection)
    return Journal(workspace, connection, persistent=False, notice=notice)


def _read_old(database: Path, target: sqlite3.Connection) -> None:
    """Copy what can be read into `target`; nothing where it cannot.

    A WAL database in a read-only folder cannot be opened in place, so its files are copied away first.
    """
    with tempfile.TemporaryDirectory(prefix="kernelwright-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / DATABASE
        try:
            for suffix in ("", "-wal"):
                if os.path.exists(f"{database}{suffix}"):
                    shutil.copyfile(f"{database}{suffix}", f"{copy}{suffix}")
            if not copy.exists():
                return
            source = sqlite3.connect(copy, isolation_level=None)
        except (OSError, sqlite3.Error):
            return
        try:
            migrate(source)
            source.backup(target)
        except (sqlite3.Error, NewerSchema):
            return
        finally:
            source.close()
