"""What was acknowledged is there again after another program has held, damaged, cut off or removed the database."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal.steps import step
from kernelwright.journal import Journal, open_journal
from kernelwright.journal.disk import in_memory

COUNT = 30


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """One with steps and a baseline that were acknowledged, and are on disk for good."""
    with open_journal(tmp_path) as opened:
        for number in range(COUNT):
            opened.add_step("a.py", step(number), "a", f"after {number}")
        opened.set_baseline("a.py", "softmax", "the baseline")
        opened._keeper.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield opened


def database(journal: Journal) -> Path:
    return journal.workspace / ".kernelwright" / "journal.db"


def overwrite(path: Path, start: int, count: int) -> None:
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(os.urandom(count))


def check_whole(workspace: Path, more: tuple[str, ...] = ()) -> None:
    """What another process finds."""
    with open_journal(workspace) as found:
        assert found.persistent, found.notice
        assert [s.id for s in found.steps("a.py")] == [*(f"step-{n}" for n in range(COUNT)), *more]
        assert found.baseline("a.py", "softmax") == "the baseline"


def test_a_database_that_is_overwritten_while_it_is_open(journal: Journal) -> None:
    overwrite(database(journal), 0, database(journal).stat().st_size)
    journal._keeper.connection.execute("PRAGMA shrink_memory")  # what is still in memory would hide it
    journal.add_step("a.py", step(99), "a", "b")
    assert "restored from its copy" in journal.notice
    assert journal.persistent
    check_whole(journal.workspace, ("step-99",))
    assert (database(journal).parent / "journal.damaged-1.db").exists()


def test_a_database_and_a_copy_that_are_both_overwritten(journal: Journal) -> None:
    for path in (database(journal), database(journal).with_name("journal.copy.db")):
        overwrite(path, 0, path.stat().st_size)
        Path(f"{path}-wal").write_bytes(b"")
    journal._keeper.disk.close()
    journal._keeper.connection.execute("PRAGMA shrink_memory")
    journal.add_step("a.py", step(99), "a", "b")
    assert [s.id for s in journal.steps("a.py")][-1] == "step-99"
    assert not journal.persistent
    assert "steps are kept in memory" in journal.notice
    with open_journal(journal.workspace) as again:
        again.add_step("a.py", step(100), "a", "b")
        assert [s.id for s in again.steps("a.py")][-1] == "step-100"


def test_damage_is_not_taken_into_memory(journal: Journal) -> None:
    journal.close()
    overwrite(database(journal), 4096, database(journal).stat().st_size - 4096)  # its header says that all is well
    with contextlib.closing(sqlite3.connect(database(journal))) as damaged:
        memory = in_memory(damaged.backup)
    assert memory.execute("SELECT count(*) FROM steps").fetchone() == (0,)


@pytest.mark.parametrize("size", [0, 4096])
def test_a_database_that_is_cut_off_while_it_is_open(size: int, journal: Journal) -> None:
    journal.set_baseline("a.py", "softmax", "the baseline")
    os.truncate(database(journal), size)
    journal.add_step("a.py", step(99), "a", "b")
    assert "restored from its copy" in journal.notice
    check_whole(journal.workspace, ("step-99",))


def test_a_database_that_is_cut_off_right_after_it_was_opened(journal: Journal) -> None:
    journal.close()
    with open_journal(journal.workspace) as again:
        os.truncate(database(journal), 0)
        again.add_step("a.py", step(99), "a", "b")
        check_whole(journal.workspace, ("step-99",))


def test_a_database_that_is_overwritten_while_it_is_closed(journal: Journal) -> None:
    journal.close()
    overwrite(database(journal), 0, 4096)
    check_whole(journal.workspace)


@pytest.mark.parametrize(
    ("start", "number"), [(44, 9), (60, 0x7F010101), (60, -5)], ids=["format", "version", "negative"]
)
def test_a_number_of_the_header_that_nobody_writes(start: int, number: int, journal: Journal) -> None:
    """SQLite has no code for an unknown format, and a version from nowhere is no newer Kernelwright's."""
    journal.close()
    with open(database(journal), "r+b") as file:
        file.seek(start)
        file.write(number.to_bytes(4, "big", signed=True))
    check_whole(journal.workspace)


def test_a_text_that_is_not_what_was_written(journal: Journal) -> None:
    journal._keeper.connection.execute(
        "UPDATE texts SET body = zeroblob(20) WHERE hash = (SELECT text_hash FROM baselines)"
    )
    assert journal.baseline("a.py", "softmax") == "the baseline"
    assert "restored from its copy" in journal.notice


def test_damage_that_sqlite_does_not_notice_does_not_reach_the_copy(journal: Journal) -> None:
    journal.close()
    with contextlib.closing(sqlite3.connect(database(journal), isolation_level=None)) as other:
        other.execute("UPDATE texts SET body = zeroblob(20)")
    with open_journal(journal.workspace) as again:  # whose first entry makes the copy anew
        assert "restored from its copy" in again.notice
        again.set_baseline("b.py", "softmax", "another one")
    check_whole(journal.workspace)


def test_damage_between_opening_and_the_first_entry_does_not_reach_the_copy(journal: Journal) -> None:
    journal.close()
    with open_journal(journal.workspace) as again:
        again._keeper.connection.execute("UPDATE texts SET body = 0.5")  # not even bytes
        again.set_baseline("b.py", "softmax", "another one")
    check_whole(journal.workspace)


def test_a_log_that_is_cut_off(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.set_baseline("a.py", "softmax", "old")
        journal._keeper.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        journal.set_baseline("a.py", "other", "in the log only")
        journal.add_step("a.py", step(1), "a", "b")
        folder = journal.workspace / ".kernelwright"
        for name in ("journal.db", "journal.copy.db", "journal.copy.db-wal"):  # as a crash leaves them, but for the log
            (tmp_path / name).write_bytes((folder / name).read_bytes())
    workspace = tmp_path / "restarted"
    (workspace / ".kernelwright").mkdir(parents=True)
    for name in ("journal.db", "journal.copy.db", "journal.copy.db-wal"):
        os.rename(tmp_path / name, workspace / ".kernelwright" / name)
    with open_journal(workspace) as again:
        assert again.baseline("a.py", "other") == "in the log only"
        assert [s.id for s in again.steps("a.py")] == ["step-1"]


def test_a_copy_that_is_damaged_is_made_anew(journal: Journal) -> None:
    journal.close()
    overwrite(database(journal).with_name("journal.copy.db"), 0, 4096)
    with open_journal(journal.workspace) as again:
        again.add_step("a.py", step(99), "a", "b")
        assert again.persistent
    overwrite(database(journal), 0, 4096)
    check_whole(journal.workspace, ("step-99",))


def test_a_database_that_another_program_holds(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal._keeper.connection.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(database(journal), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    journal.add_step("a.py", step(98), "a", "b")
    assert not journal.persistent
    assert "another process holds it" in journal.notice
    journal.add_step("a.py", step(99), "a", "b")
    assert [s.id for s in journal.steps("a.py")][-2:] == ["step-98", "step-99"]
    other.close()
    journal.close()
    check_whole(journal.workspace, ("step-98", "step-99"))


def test_a_database_that_is_damaged_while_entries_are_in_memory(journal: Journal) -> None:
    journal._keeper.connection.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(database(journal), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    journal.add_step("a.py", step(98), "a", "b")
    assert not journal.persistent
    other.close()
    overwrite(database(journal), 0, database(journal).stat().st_size)
    journal.add_step("a.py", step(99), "a", "b")
    assert journal.persistent
    assert "restored from its copy" in journal.notice
    check_whole(journal.workspace, ("step-98", "step-99"))


def test_a_database_that_is_removed_is_begun_anew(journal: Journal) -> None:
    for file in database(journal).parent.iterdir():
        file.unlink()
    database(journal).parent.rmdir()
    journal.add_step("a.py", step(99), "a", "b")
    assert journal.persistent
    with open_journal(journal.workspace) as found:
        assert [s.id for s in found.steps("a.py")] == ["step-99"]
