"""Whatever happens, a person reads a sentence; Ctrl-C ends everything quietly."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.terminal import SCORE, file
from kernelwright.cli.ending import told_in_words


def test_a_mistake_of_ours_is_logged_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as ended, told_in_words():
        raise ZeroDivisionError("a number too\nsmall")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    log = tmp_path / "kernelwright" / "kernelwright.log"
    assert said.startswith(
        "kernelwright: This is a mistake in Kernelwright, not in your file (ZeroDivisionError: a number"
    )
    assert str(log) in said.replace("\n", "")
    assert "Traceback" not in said
    assert "in test_a_mistake_of_ours_is_logged_and_told" in log.read_text()


def test_a_log_that_cannot_be_written_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kernelwright").write_text("not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(SystemExit), told_in_words():
        raise ZeroDivisionError
    assert "the details could not be written to the log" in capsys.readouterr().err


@pytest.mark.parametrize("stage", ["starting", "Verifying"])
def test_an_interrupt_is_quiet_and_leaves_no_worker(tmp_path: Path, stage: str) -> None:
    path = file(tmp_path, SCORE)
    command = subprocess.Popen(
        [sys.executable, "-m", "kernelwright", "optimize", path, "--write"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # The background jobs of a shell ignore interrupts, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert command.stderr is not None
    if stage == "Verifying":
        while "Verifying" not in command.stderr.readline():
            assert command.poll() is None
    workers = wait_for_children(command.pid)
    command.send_signal(signal.SIGINT)
    said = command.communicate(timeout=20)[1]
    assert command.returncode == 130
    assert "Traceback" not in said
    assert "rror" not in said
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "a worker is left"
        time.sleep(0.05)
    assert path.read_text() == SCORE
    assert [p.name for p in tmp_path.iterdir() if p.name != ".kernelwright"] == ["score.py"]


def wait_for_children(pid: int) -> list[int]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = [
            int(stat.parent.name)
            for stat in Path("/proc").glob("[0-9]*/stat")
            if os.access(stat, os.R_OK) and _parent(stat) == pid
        ]
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("no worker was started")


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):  # it ended just now
        return 0
