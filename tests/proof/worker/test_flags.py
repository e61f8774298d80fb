"""Settings are read, compared by name, and put back, and only those that differ: setting some imports a compiler."""

import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest
import torch

from kernelwright.proof.worker import flags, surroundings
from kernelwright.proof.worker.inputs import seed_everything

_PUT_BACK = """
import sys, torch
from kernelwright.proof.worker import flags
before = flags.read()
torch.set_num_threads(before["torch.get_num_threads()"] % 2 + 1)
torch.backends.cuda.matmul.allow_tf32 = not torch.backends.cuda.matmul.allow_tf32
assert flags.read() != before
flags.write(before)
assert flags.read() == before
print("torch._inductor.config" in sys.modules)
"""


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    before = flags.read()
    yield
    flags.write(before)


def test_putting_threads_back_imports_no_compiler() -> None:
    ended = subprocess.run([sys.executable, "-c", _PUT_BACK], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "False"


def _other(value: object) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case torch.dtype():
            return torch.float64
        case frozenset():
            return value | {10}
        case "cpu":
            return "meta"
        case str() if value.startswith("/"):
            return "/"
        case "none":
            return "bf16"
        case str():
            return "C"
        case (int(soft), int(hard)):
            return (soft - 1 if soft > 0 else 1 << 50, hard)
        case tuple():
            return (("always", "UserWarning"), *value)
        case dict() if "PATH" in value:
            return {**value, "PATH": "/nowhere", "LEFT": "behind"}
        case dict() if "divide" in value:
            return {**value, "divide": "ignore"}
        case dict():
            return {**value, "precision": 11}
    raise AssertionError(value)


@pytest.mark.parametrize(
    "row",
    [row for row in flags.ROWS if row.write is not None],
    ids=lambda r: r.name,
)
def test_every_setting_is_compared_and_put_back(row: surroundings.Row) -> None:
    before = flags.read()
    if before[row.name] is None:
        return  # this torch does not have it
    assert row.write is not None
    row.write(_other(before[row.name]))
    changed = flags.read()
    assert changed[row.name] != before[row.name]
    assert any(row.name in words for words in surroundings.differences(before, changed))
    flags.write(before)
    assert flags.read() == before


def test_what_an_import_changes_is_expected_of_another_process() -> None:
    before = {surroundings.ENVIRONMENT: {"A": "1", "B": "2"}, "x": 1, "y": 2}
    after = {surroundings.ENVIRONMENT: {"A": "1", "B": "3", "C": "4"}, "x": 1, "y": 5}
    made = surroundings.changes(before, after)
    assert made == {surroundings.ENVIRONMENT: {"B": "3", "C": "4"}, "y": 5}
    elsewhere = {surroundings.ENVIRONMENT: {"B": "2", "D": "5"}, "x": 7, "y": 2}
    expected = surroundings.changed_by(elsewhere, made)
    assert expected == {surroundings.ENVIRONMENT: {"B": "3", "C": "4", "D": "5"}, "x": 7, "y": 5}
    assert surroundings.differences(expected, expected) == []
    assert surroundings.differences(expected, elsewhere) == [
        "os.environ['B'] is changed",
        "os.environ['C'] is gone",
        "y is 2 instead of 5",
    ]


def test_a_new_variable_and_a_longer_path_are_told_and_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    before = flags.read()
    monkeypatch.setenv("PATH", f"/new/bin:{os.environ['PATH']}")
    monkeypatch.setenv("KERNELS_OF_MINE", "1")
    after = flags.read()
    assert surroundings.differences(before, after) == []
    assert surroundings.added(before, after) == ["KERNELS_OF_MINE"]


def test_a_variable_that_switches_tf32_on_is_no_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    before = flags.read()
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    assert surroundings.differences(before, flags.read()) == ["os.environ['NVIDIA_TF32_OVERRIDE'] is 1 instead of None"]


def test_filters_for_one_message_or_of_a_library_are_its_own_business() -> None:
    class OfALibrary(UserWarning):
        pass

    before = flags.read()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="slow path")
        warnings.filterwarnings("ignore", module="mine")
        warnings.simplefilter("ignore", OfALibrary)
        assert surroundings.differences(before, flags.read()) == []


def test_a_folder_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert flags.read()["os.getcwd()"] == "FileNotFoundError"


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (lambda: torch.randn(3), "torch.get_rng_state()"),
        (random.random, "random.getstate()"),
        (lambda: random.gauss(0, 1), "random.getstate()"),
        (numpy.random.rand, "numpy.random.get_state()"),
        (lambda: torch.manual_seed(5), "torch.initial_seed()"),
        (lambda: numpy.random.seed(6), "numpy.random.get_state()"),
    ],
)
def test_what_is_drawn_or_seeded_shows(draw: Callable[[], object], name: str) -> None:
    seed_everything(4)
    before = flags.generators()
    assert flags.generators() == before
    draw()
    assert flags.generators()[name] != before[name]
    seed_everything(4)
    assert flags.generators() == before


def test_reading_all_of_it_takes_no_time() -> None:
    """The least of many, so that a busy machine does not count."""
    least = min(_seconds(lambda: (flags.read(), flags.generators())) for _ in range(50))
    assert least < 1e-3


def _seconds(what: Callable[[], object]) -> float:
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun
