"""The database of a workspace and its copy, a second database that every entry is also written to.

SQLite guards a database against crashes, not against what overwrites its file: then the copy takes its place.
"""

import contextlib
import errno
import itertools
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kernelwright.journal.schema import NewerSchema, migrate
from kernelwright.journal.texts import NOT_A_TEXT, unpack
from kernelwright.values import digest

FOLDER = ".kernelwright"
DATABASE = "journal.db"
COPY = "journal.copy.db"
BUSY_SECONDS = 2.0  # that a person waits for another process's write; what takes longer is written later

Write = Callable[[sqlite3.Connection], object]
_FILES = ("", "-wal", "-shm")  # of one database in WAL mode
_UNREADABLE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_CODE = (  # damage that has no code of its own: a header that no SQLite writes, a name whose letters are none
    "unsupported file format",
    "Could not decode to UTF-8",
)


class Disk:
    """Opens the database in `workspace/.kernelwright/`, keeps its copy, and puts the copy in its place."""

    def __init__(self, workspace: Path) -> None:
        self.database = workspace / FOLDER / DATABASE
        self._copy: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._size = 0  # bytes, when last looked at

    def open(self, wait: float = BUSY_SECONDS) -> sqlite3.Connection:
        """A connection that can write, waiting so many seconds for other processes. What only the copy has is taken over.

        Raises OSError, sqlite3.DatabaseError and NewerSchema.
        """
        _make_folder(self.database.parent)
        connection = connect(self.database, wait)
        try:
            if not _is_sound(connection):
                raise damaged()
        except BaseException:
            connection.close()
            raise
        self._note()
        self._close_copy()
        with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):
            _take_over(connection, self._copy_path)
        return connection

    def _note(self) -> None:
        """Which file was opened, and how large it is."""
        self._file, self._size = _identity(self.database), 0
        self.is_cut_off()

    def is_other(self) -> bool:
        """Whether the database's file is no longer the one that was opened: somebody removed or replaced it."""
        return self._file is not None and _identity(self.database) != self._file

    def is_cut_off(self) -> bool:
        """Whether the file is shorter than it was, which an open connection does not notice.

        It is not opened to be looked at: closing it again would drop SQLite's locks.
        """
        try:
            size = self.database.stat().st_size
        except OSError:
            return False
        shorter = size < self._size
        self._size = size
        return shorter

    def also(self, write: Write, source: sqlite3.Connection) -> None:
        """Do to the copy what was done to the database `source`. A copy that cannot be written is made anew."""
        try:
            if self._copy is None:
                self._copy = self._opened_copy(source)
                return  # made of the source, or brought up to it
            with transaction(self._copy):
                write(self._copy)
        except (OSError, sqlite3.Error, NewerSchema):
            self._close_copy()

    def restored(self) -> tuple[sqlite3.Connection, Path]:
        """The copy in the place of a damaged database, which is moved aside: the new connection, and where the old one is.

        Raises OSError, sqlite3.DatabaseError and NewerSchema, and then nothing was moved.
        """
        self._close_copy()
        with contextlib.closing(connect(self._copy_path, BUSY_SECONDS, new=False)) as copy:
            if copy.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("the copy is damaged too")
            aside = _move_aside(self.database)
            connection = connect(self.database, BUSY_SECONDS)
            copy.backup(connection)
        with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):  # as far as it can still be read
            _take_over(connection, aside)
        self._note()
        return connection, aside

    def read(self, target: sqlite3.Connection) -> None:
        """Fill an empty database with what is on disk, as it lies there; where the copy has more, with that too.

        Raises OSError, sqlite3.Error and NewerSchema.
        """
        with _away(self.database, self._copy_path) as (database, copy), _opened(database) as source:
            # A copy there need not be: the first entry makes it.
            with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):
                _take_over(source, copy)
            source.backup(target)

    def read_copy(self, target: sqlite3.Connection) -> None:
        """Fill an empty database with what the copy holds. Raises as `read`."""
        with _away(self._copy_path) as (copy,), _opened(copy) as source:
            source.backup(target)

    def close(self) -> None:
        self._close_copy()

    @property
    def _copy_path(self) -> Path:
        return self.database.with_name(COPY)

    def _opened_copy(self, source: sqlite3.Connection) -> sqlite3.Connection:
        try:
            copy = connect(self._copy_path, BUSY_SECONDS)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            for suffix in _FILES:
                Path(f"{self._copy_path}{suffix}").unlink(missing_ok=True)
            copy = connect(self._copy_path, BUSY_SECONDS)
        try:
            copy.execute("PRAGMA synchronous = NORMAL")  # the database itself outlives a loss of power
            if not _is_sound(source):  # else what has befallen it since it was opened would befall its copy
                raise damaged()
            source.backup(copy)
        except BaseException:
            copy.close()
            raise
        return copy

    def _close_copy(self) -> None:
        if self._copy is not None:
            with contextlib.suppress(sqlite3.Error):
                self._copy.close()
            self._copy = None


def in_memory(*sources: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
    """A database in memory, filled by the first of the sources that is undamaged, else by one that can be read at all, else
    empty.
    """
    found = _memory()
    for fill in sources:
        tried = _memory()
        with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):
            fill(tried)
            if tried.execute("PRAGMA quick_check").fetchone() == ("ok",):
                found, tried = tried, found
                if _is_sound(found):
                    break
        tried.close()
    migrate(found)
    return found


def _memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


def _is_sound(connection: sqlite3.Connection) -> bool:
    """Whether nothing has overwritten it. SQLite finds damage to its own pages, and not to the texts that lie in them."""
    try:
        texts = connection.execute("SELECT hash, body FROM texts")
        whole = all(digest(unpack(body)) == hash for hash, body in texts)
    except NOT_A_TEXT:
        return False
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return False
        raise
    return whole and connection.execute("PRAGMA quick_check").fetchone() == ("ok",)


@contextlib.contextmanager
def _away(*databases: Path) -> Iterator[list[Path]]:
    """Copies of databases in a temporary folder, with what is in the logs beside them. Raises OSError where the first is
    missing.

    In a read-only folder SQLite opens a database in WAL mode only if nobody was killed while writing there; else it tries
    for 10 s.
    """
    with tempfile.TemporaryDirectory(prefix="kernelwright-", ignore_cleanup_errors=True) as folder:
        copies = [Path(folder) / database.name for database in databases]
        databases[0].stat()
        for database, copy in zip(databases, copies, strict=True):
            for suffix in ("", "-wal"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(f"{database}{suffix}", f"{copy}{suffix}")
        yield copies


@contextlib.contextmanager
def _opened(database: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        migrate(connection)
        yield connection


def can_write(folder: Path) -> bool:
    """Whether files can be made there; False on a read-only file system for the administrator, too."""
    return os.access(folder, os.W_OK)


def damaged() -> sqlite3.DatabaseError:
    """What SQLite would raise, had it found the damage."""
    error = sqlite3.DatabaseError("it does not hold what was written")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file does not hold what SQLite has written there. Extended codes carry the primary one in their low byte."""
    return getattr(error, "sqlite_errorcode", -1) & 0xFF in _UNREADABLE or str(error).startswith(_NO_CODE)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """IMMEDIATE takes the write lock at once: a transaction that upgrades later could fail without waiting."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


def connect(database: Path, wait: float, *, new: bool = True) -> sqlite3.Connection:
    """A database in WAL mode with our tables; with `new` made where there is none. Raises as `Disk.open`."""
    if not can_write(database.parent):  # where SQLite may try for 10 s, whatever it is told to wait: see `_away`
        raise OSError(errno.EROFS, "it is read-only")
    address = f"{database.absolute().as_uri()}?mode={'rwc' if new else 'rw'}"
    connection = sqlite3.connect(
        address, uri=True, timeout=wait, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    try:
        _write_ahead(connection, wait)
        # Steps are rare and dear: FULL also keeps the last one when the power fails.
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection)
        _try_to_write(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _take_over(connection: sqlite3.Connection, copy: Path) -> None:
    """Entries that the copy has and the database has not: its log was cut off before they were in it for good."""
    if not copy.exists():
        return
    connect(copy, BUSY_SECONDS, new=False).close()  # brings its tables up to date
    connection.execute("ATTACH ? AS copy", (str(copy),))
    try:
        with transaction(connection):
            connection.execute("INSERT OR IGNORE INTO texts SELECT hash, body FROM copy.texts")
            connection.execute(
                "INSERT INTO baselines SELECT path, kernel, text_hash, set_at FROM copy.baselines WHERE true "
                "ON CONFLICT DO UPDATE SET text_hash = excluded.text_hash, set_at = excluded.set_at "
                "WHERE excluded.set_at > set_at"
            )
            connection.execute(
                "INSERT INTO lines SELECT path, entry, value, set_at FROM copy.lines WHERE true "
                "ON CONFLICT DO UPDATE SET value = excluded.value, set_at = excluded.set_at "
                "WHERE excluded.set_at > set_at"
            )
            columns = "id, path, kernel, before_hash, after_hash, strategy, outcome, created, value"
            connection.execute(
                f"INSERT INTO steps ({columns}) SELECT {columns} FROM copy.steps AS found "
                "WHERE NOT EXISTS (SELECT 1 FROM main.steps WHERE main.steps.id = found.id) ORDER BY found.number"
            )
    finally:
        connection.execute("DETACH copy")


def _move_aside(database: Path) -> Path:
    names = (database.with_name(f"journal.damaged-{number}.db") for number in itertools.count(1))
    aside = next(name for name in names if not name.exists())
    with contextlib.suppress(FileNotFoundError):  # another process did the same
        os.rename(database, aside)
    for suffix in _FILES[1:]:
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{database}{suffix}", f"{aside}{suffix}")
    return aside


def _make_folder(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def _write_ahead(connection: sqlite3.Connection, wait: float) -> None:
    """Switch to WAL. SQLite does not wait for another process that is switching at the same time, so we do."""
    deadline = time.monotonic() + wait
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


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
