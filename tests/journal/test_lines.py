"""Workload lines that the journal keeps: replaced, forgotten, renamed, brought in by a migration, and there after damage."""

import sqlite3
from contextlib import closing
from pathlib import Path

from journal.steps import step
from kernelwright.journal import open_journal
from kernelwright.journal.schema import MIGRATIONS, migrate

LINES = (("copy", ("copy(randn(8))", "copy(randn(4))")), ("half", ("half(ones(2))",)))


def test_lines_are_kept_by_file_and_entry_until_they_are_forgotten(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        assert journal.lines("a.py") == ()
        journal.keep_lines("a.py", LINES)
        journal.keep_lines("b.py", LINES[:1])
        journal.keep_lines(tmp_path / "b.py", (("copy", ("copy(randn(9))",)),))
    with open_journal(tmp_path) as again:
        assert again.lines(tmp_path / "a.py") == LINES
        assert again.lines("b.py") == (("copy", ("copy(randn(9))",)),)
        again.keep_lines("a.py", (("copy", ()),))
        assert again.lines("a.py") == LINES[1:]


def test_a_renamed_file_keeps_its_lines_and_an_overwritten_one_has_none(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.keep_lines("old/a.py", LINES)
        journal.keep_lines("b.py", LINES[:1])
        journal.keep_lines("new/a.py", (("copy", ("copy(randn(1))",)),))  # a folder that is put over another one
        journal.rename("old", "new")
        assert journal.lines("old/a.py") == ()
        assert journal.lines("new/a.py") == LINES
        journal.rename("new/a.py", "b.py")
        assert journal.lines("b.py") == LINES


def test_a_journal_of_a_version_without_lines_takes_some(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.add_step("a.py", step(1), "a", "b")
    for name in ("journal.db", "journal.copy.db"):
        with closing(sqlite3.connect(tmp_path / ".kernelwright" / name, isolation_level=None)) as database:
            database.execute("DROP TABLE lines")
            database.execute("PRAGMA user_version = 3")
    with open_journal(tmp_path) as journal:
        assert [one.id for one in journal.steps("a.py")] == [step(1).id]
        journal.keep_lines("a.py", LINES)
        assert journal.lines("a.py") == LINES


def test_migrations_that_were_released_are_as_they_were() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        migrate(database, MIGRATIONS[:3])
        migrate(database)
        assert database.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert database.execute("SELECT count(*) FROM lines").fetchone() == (0,)


def test_lines_are_in_the_copy_that_replaces_a_damaged_database(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.add_step("a.py", step(1), "a", "b")
        journal.keep_lines("a.py", LINES)
        journal.keep_lines("a.py", (("half", ()),))
    database = tmp_path / ".kernelwright" / "journal.db"
    database.write_bytes(b"no database" * 1000)
    Path(f"{database}-wal").unlink(missing_ok=True)
    with open_journal(tmp_path) as again:
        assert "restored from its copy" in again.notice
        assert again.lines("a.py") == LINES[:1]


def test_what_only_the_copy_has_is_taken_over_and_what_is_newer_stays(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.keep_lines("a.py", LINES)
        journal.keep_lines("b.py", LINES)
    with closing(sqlite3.connect(tmp_path / ".kernelwright" / "journal.db", isolation_level=None)) as database:
        database.execute("DELETE FROM lines WHERE path = 'a.py'")
        database.execute("UPDATE lines SET value = '[]', set_at = '9999' WHERE path = 'b.py' AND entry = 'copy'")
    with open_journal(tmp_path) as again:
        assert again.lines("a.py") == LINES
        assert again.lines("b.py") == LINES[1:]


def test_lines_that_this_version_cannot_read_are_left_out(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.keep_lines("a.py", LINES)
        journal._keeper.connection.execute("UPDATE lines SET value = '{\"to\": 1}' WHERE entry = 'copy'")
        assert journal.lines("a.py") == LINES[1:]
