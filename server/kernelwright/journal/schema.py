"""The tables of the journal, as the list of migrations that lead to them."""

import sqlite3
from collections.abc import Sequence

Migration = tuple[str, ...]

# Each entry takes the database from version i to i + 1. Never change an entry that was released: append another.
MIGRATIONS: tuple[Migration, ...] = (
    (
        "CREATE TABLE texts (hash TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
        """CREATE TABLE baselines (
               path TEXT NOT NULL, kernel TEXT NOT NULL, text_hash TEXT NOT NULL, set_at TEXT NOT NULL,
               PRIMARY KEY (path, kernel)
           ) WITHOUT ROWID""",
        """CREATE TABLE steps (
               number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
               path TEXT NOT NULL, kernel TEXT NOT NULL, before_hash TEXT NOT NULL, after_hash TEXT NOT NULL,
               strategy TEXT NOT NULL, outcome TEXT NOT NULL, created TEXT NOT NULL, value TEXT NOT NULL
           )""",
        "CREATE INDEX steps_of_kernel ON steps (path, kernel, number)",
    ),
    (
        """CREATE TABLE graphs (
               text_hash TEXT NOT NULL, workload_hash TEXT NOT NULL, value TEXT NOT NULL,
               PRIMARY KEY (text_hash, workload_hash)
           ) WITHOUT ROWID""",
        "CREATE INDEX steps_by_result ON steps (path, kernel, after_hash, number)",
    ),
    (
        """CREATE TABLE spending (
               day TEXT NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL, tokens_in INTEGER NOT NULL,
               tokens_out INTEGER NOT NULL, dollars REAL NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (day, model)
           ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE lines (
               path TEXT NOT NULL, entry TEXT NOT NULL, value TEXT NOT NULL, set_at TEXT NOT NULL,
               PRIMARY KEY (path, entry)
           ) WITHOUT ROWID""",
    ),
)


class NewerSchema(Exception):
    """The database was written by a later version of Kernelwright."""


_MOST = 10_000  # versions that there may ever be


def version(connection: sqlite3.Connection) -> int:
    """Raises sqlite3.DatabaseError where the number is none that Kernelwright has written."""
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if not 0 <= found <= _MOST:
        error = sqlite3.DatabaseError(f"{found} is no version of a journal")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error
    return found


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the database to the newest version, all or nothing. Raises NewerSchema and sqlite3.Error.

    The connection must be in autocommit mode (`isolation_level=None`).
    """
    if version(connection) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = version(connection)  # again, under the lock: another process may have migrated meanwhile
        if found > len(migrations):
            raise NewerSchema(f"schema {found}, this version knows {len(migrations)}")
        for statement in (s for migration in migrations[found:] for s in migration):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
