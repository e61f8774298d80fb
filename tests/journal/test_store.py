import math
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from journal.steps import step
from kernelwright.journal import Journal, open_journal
from kernelwright.values import (
    Argument,
    CodeSpan,
    Graph,
    Node,
    Outcome,
    TensorRef,
    TensorType,
    Value,
    digest,
)


@pytest.fixture
def journal(tmp_path: Path):
    with open_journal(tmp_path) as opened:
        yield opened


def graph(args: tuple[Argument, ...] = (TensorRef(0), 2, 0.5, True, None, "sum", (1, (TensorRef(0), -1)))) -> Graph:
    kind = TensorType((8, 4), (4, 1), "float32")
    node = Node(0, "add", args, {"dim": -1, "keepdim": True}, (1,), CodeSpan(1, 2, 1, 9), "bn1", False, 64, 32)
    values = (Value(0, kind, "input", "x"), Value(1, kind, "node"))
    return Graph("Model", "00ff", "cpu", False, values, (node,), (1,))


def test_a_step_comes_back_as_it_went_in(tmp_path: Path):
    with open_journal(tmp_path) as journal:
        assert journal.persistent
        assert journal.notice == ""
        journal.add_step("a.py", step(1), "a", "b")
    with open_journal(tmp_path) as again:
        (found,) = again.steps("a.py")
    assert math.isnan(found.verdict.baseline_error)
    assert math.isinf(found.measurement.speedup_high)
    assert repr(found) == repr(step(1))  # nan is not equal to itself


def test_a_step_of_a_version_without_roofs_is_read(tmp_path: Path):
    with open_journal(tmp_path) as journal:
        journal.add_step("a.py", step(1), "a", "b")
    with closing(sqlite3.connect(tmp_path / ".kernelwright" / "journal.db")) as database, database:
        database.execute("UPDATE steps SET value = json_remove(value, '$.measurement.roof')")
    with open_journal(tmp_path) as again:
        (found,) = again.steps("a.py")
    assert found.measurement.roof is None
    assert found.measurement.speedup == 2.3


def test_a_graph_comes_back_as_it_went_in(journal: Journal):
    journal.put_graph("t", "w", graph())
    assert journal.graph("t", "w") == graph()
    assert journal.graph("t", "other") is None
    assert journal.graph("other", "w") is None
    journal.put_graph("t", "w", graph((1,)))
    assert journal.graph("t", "w") == graph((1,))


def test_baselines_are_per_file_and_kernel(journal: Journal):
    assert journal.baseline("a.py", "softmax") is None
    journal.set_baseline("a.py", "softmax", "one")
    journal.set_baseline("a.py", "matmul", "two")
    journal.set_baseline("b.py", "softmax", "three")
    journal.set_baseline("a.py", "softmax", "four")
    assert journal.baseline("a.py", "softmax") == "four"
    assert journal.baseline("a.py", "matmul") == "two"
    assert journal.baseline("b.py", "softmax") == "three"
    assert journal.text(digest("one")) == "one"


def test_a_file_that_is_renamed_takes_its_history_along(journal: Journal):
    journal.set_baseline("a.py", "softmax", "one")
    journal.add_step("a.py", step(1), "one", "two")
    journal.set_baseline("b.py", "softmax", "of a file that is overwritten")
    journal.rename("a.py", "b.py")
    assert journal.baseline("b.py", "softmax") == "one"
    assert [s.id for s in journal.steps("b.py")] == ["step-1"]
    assert journal.baseline("a.py", "softmax") is None
    assert journal.steps("a.py") == ()


def test_what_a_renamed_file_overwrites_is_no_evidence_about_it(journal: Journal):
    journal.set_baseline("b.py", "matmul", "of the file that is gone")
    journal.add_step("b.py", step(2), "one", "two")
    journal.rename("a.py", "b.py")
    assert journal.baseline("b.py", "matmul") is None
    assert [s.outcome for s in journal.steps("b.py")] == [Outcome.REVERTED]


def test_a_name_that_stays_changes_nothing(journal: Journal):
    journal.set_baseline("a.py", "softmax", "one")
    journal.rename("a.py", "./a.py")
    assert journal.baseline("a.py", "softmax") == "one"


def test_a_folder_that_is_renamed_takes_its_files_along(journal: Journal):
    for path in ("old/a.py", "old/deep/a.py", "older/a.py", "old.py"):
        journal.set_baseline(path, "softmax", path)
    journal.rename("old", "new")
    assert journal.baseline("new/a.py", "softmax") == "old/a.py"
    assert journal.baseline("new/deep/a.py", "softmax") == "old/deep/a.py"
    assert journal.baseline("older/a.py", "softmax") == "older/a.py"
    assert journal.baseline("old.py", "softmax") == "old.py"
    assert journal.baseline("old/a.py", "softmax") is None


@pytest.mark.parametrize(
    "text", ["", "x = 1\r\n", "größe = '核' # \U0001f600", "\udc80 not utf-8", "x\0y", "a" * 3_000_000]
)
def test_texts_come_back_as_they_went_in(journal: Journal, text: str):
    journal.set_baseline("a.py", "k", text)
    assert journal.baseline("a.py", "k") == text
    assert journal.text(digest(text)) == text
    assert journal.text("0" * 16) is None


def test_steps_are_oldest_first_and_per_kernel(journal: Journal):
    for number, kernel in enumerate(("softmax", "matmul", "softmax")):
        journal.add_step("a.py", step(number, kernel=kernel), "a", "b")
    journal.add_step("b.py", step(9), "a", "b")
    assert [s.id for s in journal.steps("a.py")] == ["step-0", "step-1", "step-2"]
    assert [s.id for s in journal.steps("a.py", "softmax")] == ["step-0", "step-2"]
    assert [s.id for s in journal.steps("b.py")] == ["step-9"]
    assert journal.steps("c.py") == ()


def test_reverting_keeps_the_step_and_takes_it_off_the_recipe(journal: Journal):
    journal.add_step("a.py", step(1, "a", "b"), "a", "b")
    journal.add_step("a.py", step(2, "b", "c"), "b", "c")
    journal.add_step("a.py", step(3, "c", "d", outcome=Outcome.REJECTED), "c", "d")
    assert [one.id for one in journal.recipe("a.py", "softmax").steps] == ["step-1", "step-2"]
    journal.mark_reverted("step-2")
    journal.mark_reverted("no such step")
    assert [one.id for one in journal.recipe("a.py", "softmax").steps] == ["step-1"]
    assert [s.outcome for s in journal.steps("a.py")] == [Outcome.KEPT, Outcome.REVERTED, Outcome.REJECTED]


def test_the_last_step_for_a_text(journal: Journal):
    journal.add_step("a.py", step(1, "a", "b"), "a", "b")
    journal.add_step("a.py", step(2, "b", "c"), "b", "c")
    journal.add_step("a.py", step(3, "x", "b"), "x", "b")
    assert journal.last_step_for("a.py", "softmax", digest("b")).id == "step-3"
    assert journal.last_step_for("a.py", "softmax", digest("c")).id == "step-2"
    assert journal.last_step_for("a.py", "matmul", digest("b")) is None
    assert journal.last_step_for("a.py", "softmax", digest("a")) is None


def test_the_same_id_again_replaces_the_step(journal: Journal):
    journal.add_step("a.py", step(1), "a", "b")
    journal.add_step("a.py", step(1, outcome=Outcome.REJECTED), "a", "b")
    assert [s.outcome for s in journal.steps("a.py")] == [Outcome.REJECTED]


def test_paths_are_stored_relative_to_the_workspace(journal: Journal, tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path.parent / f"{tmp_path.name}-link").symlink_to(tmp_path)
    journal.set_baseline(tmp_path / "sub" / "a.py", "k", "text")
    assert journal.baseline("sub/a.py", "k") == "text"
    assert journal.baseline(tmp_path / "sub" / ".." / "sub" / "a.py", "k") == "text"
    assert journal.baseline(tmp_path.parent / f"{tmp_path.name}-link" / "sub" / "a.py", "k") == "text"
    assert journal.relative("/somewhere/else.py") == "/somewhere/else.py"


def test_git_ignores_the_folder(tmp_path: Path):
    open_journal(tmp_path).close()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "a.py").write_text("")
    status = subprocess.run(["git", "-C", tmp_path, "status", "--short"], capture_output=True, text=True, check=True)
    assert status.stdout == "?? a.py\n"


def test_a_step_of_a_later_version_is_left_out_with_a_notice(journal: Journal):
    journal.add_step("a.py", step(1), "a", "b")
    journal.add_step("a.py", step(2), "a", "b")
    value = 'replace(value, \'"outcome":"kept"\', \'"outcome":"sideways"\')'
    journal._keeper.connection.execute(f"UPDATE steps SET value = {value} WHERE id = 'step-1'")
    assert [s.id for s in journal.steps("a.py")] == ["step-2"]
    assert "cannot read" in journal.notice


WRITER = Path(__file__).parent / "writer.py"


def write_in_a_process(workspace: Path, name: int, count: int) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, WRITER, str(workspace), str(name), str(count)], stdout=subprocess.PIPE, text=True
    )


def check_whole(workspace: Path, acknowledged: set[int]) -> None:
    with open_journal(workspace) as journal:
        assert journal._keeper.row("PRAGMA integrity_check", ()) == ("ok",)
        found = {int(s.id.removeprefix("step-")): s for s in journal.steps("a.py")}
        assert acknowledged <= found.keys()
        assert all(digest(journal.text(s.after_hash)) == s.after_hash for s in found.values())


def test_survives_being_killed_while_writing(tmp_path: Path):
    acknowledged: set[int] = set()
    for name in range(6):
        process = write_in_a_process(tmp_path, name, 1_000_000)
        seen = [process.stdout.readline() for _ in range(1 + 4 * name)]
        process.kill()
        seen += process.stdout.readlines()
        process.wait()
        acknowledged |= {int(line) for line in seen if line.endswith("\n")}
    assert len(acknowledged) >= 66
    check_whole(tmp_path, acknowledged)


def test_several_processes_write_at_once(tmp_path: Path):
    processes = [write_in_a_process(tmp_path, name, 40) for name in range(3)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    acknowledged = {int(line) for output in outputs for line in output.split()}
    assert len(acknowledged) == 120
    check_whole(tmp_path, acknowledged)
