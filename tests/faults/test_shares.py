"""Shares of the faults add up, and what one has told is read back as it was, as far as it came."""

from pathlib import Path

import pytest
from benchmarks.faults import gpus, shares
from benchmarks.faults.rounds import Outcome
from hypothesis import given
from hypothesis import strategies as st

HELD = Outcome("kill", "kill-spare", "passed", 0.1, 0.2, 0.01, 0.0, 1.5)
LOST = Outcome("journal", "journal-damaged", "", 0.1, 6.2, 0.01, 0.0, 1.5, ("lost: a baseline", "left: a process"))


@given(st.integers(0, 5000), st.integers(1, 64))
def test_shares_add_up_and_differ_by_one_at_most(count: int, jobs: int) -> None:
    counts = [shares.count_of(count, jobs, number) for number in range(jobs)]
    assert sum(counts) == count
    assert max(counts) - min(counts) <= 1


def test_what_was_told_is_read_back_without_a_line_that_was_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "told.jsonl"
    told = shares.Told(file)
    told.begin({"is_gpu": False, "name": "a CPU"}, ["needs-a-gpu"])
    told.outcome(HELD)
    told.outcome(LOST)
    told.end(None)
    with file.open("a") as out:
        out.write('{"group": "kill", "ki')
    assert shares.read(file) == shares.Found({"is_gpu": False, "name": "a CPU"}, ("needs-a-gpu",), (HELD, LOST))


def test_each_of_the_first_shares_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-5f")
    assert [gpus.share_of(number, 3) for number in range(4)] == ["4", "GPU-5f", "", ""]
    assert [gpus.share_of(number, 1) for number in range(3)] == ["4", "", ""]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert [gpus.share_of(number, 2) for number in range(3)] == ["0", "1", ""]
