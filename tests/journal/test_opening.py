import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from journal.steps import step
from kernelwright.journal import open_journal, open_when_begun
from kernelwright.journal.schema import MIGRATIONS, NewerSchema, migrate, version
from kernelwright.values import Refusal, digest


def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path):
    answer = open_journal(tmp_path / "missing")
    assert isinstance(answer, Refusal)
    assert "is not a folder" in answer.reason


def check_works_in_memory(journal) -> None:
    assert not journal.persistent
    journal.add_step("a.py", step(7), "a", "b")
    journal.set_baseline("a.py", "softmax", "text")
    assert journal.steps("a.py")[-1].id == "step-7"
    assert journal.baseline("a.py", "softmax") == "text"


def test_a_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / ".kernelwright").write_text("a file stands here")
    with open_journal(tmp_path) as journal:
        assert "cannot be written" in journal.notice
        assert journal.notice.count("\n") == 0
        check_works_in_memory(journal)
    assert (tmp_path / ".kernelwright").read_text() == "a file stands here"


READER = """
import os, sys
from pathlib import Path
from kernelwright.journal import open_journal
sys.path.insert(0, sys.argv[2])
from steps import step
if os.geteuid() == 0:
    os.setuid(65534)
journal = open_journal(Path(sys.argv[1]))
assert not journal.persistent
assert "read-only" in journal.notice or "ermission denied" in journal.notice, journal.notice
journal.add_step("a.py", step(8), "a", "b")
print(*(s.id for s in journal.steps("a.py")))
"""


def read_only(workspace: Path) -> str:
    """What a process without the right to write finds; root is never refused, so it gives its rights up first."""
    for folder, _, files in os.walk(workspace):
        for name in files:
            os.chmod(os.path.join(folder, name), 0o444)
        os.chmod(folder, 0o555)
    for parent in workspace.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    command = [sys.executable, "-c", READER, str(workspace), str(Path(__file__).parent)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    finally:
        for folder, _, _ in os.walk(workspace):
            os.chmod(folder, 0o755)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_read_only_workspace(tmp_path: Path):
    assert read_only(tmp_path) == "step-8"


def test_a_read_only_workspace_with_a_history_shows_it(tmp_path: Path):
    with open_journal(tmp_path) as journal:
        journal.add_step("a.py", step(1), "a", "b")
    assert read_only(tmp_path) == "step-1 step-8"


def test_a_read_only_workspace_without_a_copy_of_its_history_shows_it(tmp_path: Path):
    with open_journal(tmp_path) as journal:
        journal.add_step("a.py", step(1), "a", "b")
    for copy in (tmp_path / ".kernelwright").glob("journal.copy.db*"):
        copy.unlink()
    assert read_only(tmp_path) == "step-1 step-8"


def test_a_damaged_database_in_a_read_only_workspace_is_read_from_its_copy_at_once(tmp_path: Path):
    writer = [sys.executable, str(Path(__file__).parent / "writer.py"), str(tmp_path), "1", "100"]
    with subprocess.Popen(writer, stdout=subprocess.PIPE, text=True) as process:
        written = [next(process.stdout).strip() for _ in range(3)]
        process.kill()
    folder = tmp_path / ".kernelwright"
    (folder / "journal.db").write_bytes(b"no database")
    for name in ("journal.db-shm", "journal.copy.db-shm"):  # as of one that was killed in the middle of an entry
        (folder / name).write_bytes(os.urandom(32768))
    began = time.monotonic()
    assert {f"step-{number}" for number in written} <= set(read_only(tmp_path).split())
    assert time.monotonic() - began < 9  # seconds; SQLite alone tries for 10


def test_a_full_disk_loses_nothing(tmp_path: Path):
    """A limit of the connection stands for the disk: a new connection finds room again."""
    journal = open_journal(tmp_path)
    pages = journal._keeper.row("PRAGMA page_count", ())[0]
    journal._keeper.connection.execute(f"PRAGMA max_page_count = {pages + 8}")
    said = set()
    for number in range(20):
        text = os.urandom(2000).hex()
        journal.add_step("a.py", step(number, after=text), "a", text)
        said.add(journal.notice)
    assert any("the disk is full" in notice for notice in said)
    assert journal.persistent
    assert "nothing was lost" in journal.notice
    assert [s.id for s in journal.steps("a.py")] == [f"step-{n}" for n in range(20)]
    journal.close()
    with open_journal(tmp_path) as again:
        assert [s.id for s in again.steps("a.py")] == [f"step-{n}" for n in range(20)]


def test_a_disk_that_is_full_from_the_start(tmp_path: Path):
    """A limit on the size of files is the nearest thing to a full disk that needs no rights."""
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2, 2))\n"
        "from pathlib import Path; from kernelwright.journal import open_journal\n"
        "journal = open_journal(Path(sys.argv[1])); journal.set_baseline('a.py', 'k', 'text')\n"
        "assert journal.baseline('a.py', 'k') == 'text'; assert not journal.persistent; sys.stderr.write(journal.notice)"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0
    assert "The journal cannot be written" in done.stderr


def test_a_damaged_database_is_left_alone(tmp_path: Path):
    (tmp_path / ".kernelwright").mkdir()
    database = tmp_path / ".kernelwright" / "journal.db"
    database.write_bytes(b"not a database at all, but long enough to look at" * 100)
    before = database.read_bytes()
    with open_journal(tmp_path) as journal:
        assert "move it away" in journal.notice
        check_works_in_memory(journal)
    assert database.read_bytes() == before


def old_database(workspace: Path, schema: int) -> None:
    """A journal as the version with this schema left it, holding one baseline."""
    (workspace / ".kernelwright").mkdir()
    connection = sqlite3.connect(workspace / ".kernelwright" / "journal.db", isolation_level=None)
    migrate(connection, MIGRATIONS[:schema])
    if schema > 0:
        from kernelwright.journal.texts import pack

        connection.execute("INSERT INTO texts VALUES (?, ?)", (digest("old"), pack("old")))
        connection.execute("INSERT INTO baselines VALUES ('a.py', 'softmax', ?, '2026')", (digest("old"),))
    connection.close()


@pytest.mark.parametrize("schema", range(len(MIGRATIONS) + 1))
def test_an_old_schema_is_migrated_with_its_contents(tmp_path: Path, schema: int):
    old_database(tmp_path, schema)
    with open_journal(tmp_path) as journal:
        assert journal.persistent
        assert version(journal._keeper.connection) == len(MIGRATIONS)
        assert journal.baseline("a.py", "softmax") == ("old" if schema else None)
        journal.add_step("a.py", step(1), "a", "b")
        assert len(journal.steps("a.py")) == 1


def test_a_newer_schema_is_left_alone(tmp_path: Path):
    open_journal(tmp_path).close()
    connection = sqlite3.connect(tmp_path / ".kernelwright" / "journal.db", isolation_level=None)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with open_journal(tmp_path) as journal:
        assert "newer Kernelwright" in journal.notice
        check_works_in_memory(journal)
    connection = sqlite3.connect(tmp_path / ".kernelwright" / "journal.db")
    assert version(connection) == 99
    assert connection.execute("SELECT count(*) FROM steps").fetchone() == (0,)
    connection.close()


def test_a_migration_that_fails_leaves_the_old_schema():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    broken = (*MIGRATIONS, ("CREATE TABLE extra (x)", "CREATE TABLE steps (x)"))
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        migrate(connection, broken)
    assert version(connection) == len(MIGRATIONS)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'extra'").fetchone() is None
    with pytest.raises(NewerSchema):
        migrate(connection, MIGRATIONS[:1])


def test_a_workspace_in_which_nothing_was_kept_is_left_as_it_is(tmp_path: Path) -> None:
    with open_when_begun(tmp_path) as journal:
        assert journal.steps("a.py") == ()
        assert not (tmp_path / ".kernelwright").exists()
        journal.set_baseline("a.py", "k", "text")
        assert journal.persistent
        assert journal.notice == ""
    with open_when_begun(tmp_path) as again:
        assert again.persistent
        assert again.baseline("a.py", "k") == "text"


def test_what_another_process_begins_is_seen(tmp_path: Path) -> None:
    with open_when_begun(tmp_path) as journal, open_journal(tmp_path) as other:
        other.set_baseline("a.py", "k", "text")
        assert journal.baseline("a.py", "k") == "text"
        assert journal.persistent


def test_a_journal_that_cannot_be_begun_says_so_with_its_first_entry(tmp_path: Path) -> None:
    with open_when_begun(tmp_path) as journal:
        (tmp_path / ".kernelwright").write_text("in the way")
        journal.set_baseline("a.py", "k", "text")
        assert not journal.persistent
        assert journal.notice.startswith(f"The journal cannot be written to {tmp_path}")
        assert journal.baseline("a.py", "k") == "text"
        (tmp_path / ".kernelwright").unlink()
        journal.set_baseline("a.py", "j", "text")
        assert journal.persistent
    with open_journal(tmp_path) as again:
        assert again.baseline("a.py", "k") == "text"
