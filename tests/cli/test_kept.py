"""Lines in the journal on the command line: recorded, listed, verified, shown, written and forgotten; the file as it was."""

import json
import sys
from pathlib import Path

import pytest

from cli.terminal import COPY, file, kernelwright

WITHOUT = COPY.split("\n\n# workload")[0] + "\n"
SCRIPT = "import torch\nfrom copy_ import copy\n\ncopy(torch.randn(40, device='cuda'))\n"
LINE = "# workload: copy(randn(40))"
KEEP = ("--write", "--recorded-workloads", "journal")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel with its line in the journal, from a script that calls it."""
    monkeypatch.chdir(tmp_path)
    path = file(tmp_path, WITHOUT, "copy_.py")
    file(tmp_path, SCRIPT, "script.py")
    ended = kernelwright("record", *KEEP, "--", sys.executable, "script.py")
    assert ended.exit_code == 0, ended.output
    assert "The journal keeps the workload lines of copy in copy_.py." in ended.stdout
    assert path.read_bytes() == WITHOUT.encode()
    return path


def test_a_recorded_line_counts_while_the_file_stays_as_it_was(project: Path) -> None:
    listed = kernelwright("list", project, "--json", "rows.json")
    assert "copy(randn(40)) (lines in the journal)" in listed.stdout
    (row,) = json.loads(Path("rows.json").read_text())["kernels"]
    assert (row["missing"], row["next"]) == ("", "kernelwright optimize copy_.py --kernel copy_kernel")
    verified = kernelwright("verify", project, "--against", project, "--effort", "quick", "--json", "result.json")
    assert verified.exit_code == 0, verified.output
    assert ", with a workload from the journal" in verified.stdout
    checks = json.loads(Path("result.json").read_text())["result"]["verdict"]["checks"]
    assert any("copy(randn(40))" in check["case"] for check in checks), checks
    profiled = kernelwright("profile", project)
    assert profiled.exit_code == 0, profiled.output
    card = kernelwright("optimize", project, "--strategy", "triton.tune-launch")
    assert "copy(randn(40))  (lines in the journal)" in card.stdout, card.output
    assert "1 had one before" in kernelwright("infer", project).stdout
    assert project.read_bytes() == WITHOUT.encode()


def test_lines_are_shown_written_and_forgotten(project: Path) -> None:
    shown = kernelwright("lines", project, "--kernel", "copy_kernel", "--json", "lines.json")
    assert shown.stdout == f"{LINE}\n"
    assert json.loads(Path("lines.json").read_text())["lines"] == {"copy": ["copy(randn(40))"]}
    kernelwright("lines", project, "--write")
    assert project.read_text() == WITHOUT.replace("def copy(", f"{LINE}\ndef copy(")
    assert "(lines in the journal)" not in kernelwright("list", project).stdout
    again = kernelwright("record", *KEEP, "--", sys.executable, "script.py")
    assert "copy_.py has workload lines of its own for these entries, which count." in again.stdout
    project.write_text(WITHOUT)
    forgotten = kernelwright("lines", project, "--forget")
    assert f"The journal has forgotten the workload lines of {project}." in forgotten.stdout
    assert "The journal keeps no workload line for" in kernelwright("lines", project).stdout
    assert "No workload says how to call copy" in kernelwright("list", project).stdout
    assert project.read_bytes() == WITHOUT.encode()


def test_an_inferred_line_is_kept_and_can_be_read_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_RECORDED_WORKLOADS", "journal")
    path = file(tmp_path, WITHOUT, "copy_.py")
    ended = kernelwright("infer", path)
    assert ended.exit_code == 0, ended.output
    assert not (tmp_path / ".kernelwright").exists(), "nobody asked for that"
    assert kernelwright("infer", path, "--write").exit_code == 0
    assert path.read_bytes() == WITHOUT.encode()
    assert kernelwright("lines", path).stdout.startswith("# workload: copy(randn(")


def test_a_journal_that_cannot_be_written_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, WITHOUT, "copy_.py")
    (tmp_path / ".kernelwright").write_text("in the way")
    ended = kernelwright("infer", path, *KEEP)
    assert ended.exit_code == 2, ended.output
    assert "The journal cannot be written to" in " ".join(ended.stderr.split())
    assert path.read_bytes() == WITHOUT.encode()
