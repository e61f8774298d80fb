"""What a result of an earlier gate may stand for: faults that a call ended which is still made, on the same device."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.mutants.baselines import Baseline
from benchmarks.mutants.earlier import Unlike, read
from benchmarks.mutants.mutant import Mutant

from kernelwright.values import Workload, WorkloadSource

SETTINGS = {"elements": 64}
KERNEL = Baseline("k", Path("k.py"), "", Workload(WorkloadSource.LINES, "f", ()))
MUTANT = Mutant("scale@2", "scale", 1, "dropped: * 2", "a\n")
ROW = ["k", "scale@2", "killed", "values", "f(randn(3)), seed 0", 1.5]


def write(folder: Path, *rows: list[Any], **changed: Any) -> Path:
    whole = {"gate": "abc", "device": {"kind": "cpu"}, "settings": {"seed": 0, "elements": 64}, "mutants": rows}
    file = folder / "result.json"
    file.write_text(json.dumps(whole | changed))
    return file


def taken(file: Path) -> list[str]:
    found = read(file, [(KERNEL, MUTANT)], {"k": {"f(randn(3)), seed 0"}}, "cpu", SETTINGS)
    assert found.gate == "abc"
    return [o.mutant for o in found.outcomes]


def test_what_a_call_ended_that_is_still_made_is_taken_over(tmp_path: Path) -> None:
    assert taken(write(tmp_path, ROW)) == ["scale@2"]


@pytest.mark.parametrize(
    "row",
    [
        ["k", "scale@2", "survived", "", "", 1.5],
        ["k", "scale@2", "killed", "values", "f(randn(4)), seed 0", 1.5],
        ["k", "scale@2", "killed", "timed-out", "", 120.0],
        ["k", "gone@7", "killed", "values", "f(randn(3)), seed 0", 1.5],
        ["other", "scale@2", "killed", "values", "f(randn(3)), seed 0", 1.5],
    ],
)
def test_anything_else_is_graded_anew(tmp_path: Path, row: list[Any]) -> None:
    assert taken(write(tmp_path, row)) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"device": {"kind": "cuda"}}, "graded on cuda, this run is on cpu"),
        ({"settings": {"elements": 0}}, "another setting of elements"),
        ({"settings": {}}, "another setting of elements"),
        ({"mutants": 7, "device": 3}, "not a result of this benchmark"),
    ],
)
def test_a_result_of_other_conditions_is_refused(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(Unlike, match=words):
        taken(write(tmp_path, ROW, **changed))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unlike, match="not a result"):
        taken(tmp_path / "none.json")
