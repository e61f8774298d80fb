"""`strategies`, `doctor` and `--version`: what there is, said without leaving a trace."""

import re
from pathlib import Path

import pytest

from cli.terminal import kernelwright
from kernelwright import __version__
from kernelwright.macro.strategies import registry


def test_every_strategy_is_listed() -> None:
    listed = kernelwright("strategies")
    assert listed.exit_code == 0
    assert re.findall(r"^ *(\w+\.[\w.-]+)(?= )", listed.stdout, re.MULTILINE) == list(registry())


@pytest.mark.parametrize("language", ["torch", "triton"])
def test_the_strategies_of_one_language(language: str) -> None:
    listed = kernelwright("strategies", "--language", language).stdout
    for id in registry():
        assert (id in listed) == id.startswith(f"{language}.")


def test_the_version() -> None:
    assert kernelwright("--version").stdout == f"kernelwright {__version__}\n"


def test_the_doctor_looks_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kernelwright("doctor")
    assert ended.exit_code == 0
    for name in (
        "interpreter",
        "torch",
        "triton",
        "GPU",
        "CUDA compiler",
        r"C\+\+ compiler",
        "sandbox",
        "journal",
    ):
        assert re.search(rf"(found|missing) +{name}", ended.stdout), name
    for unused in ("bubblewrap", "Nsight"):
        assert unused not in ended.stdout, "only what is used is recommended"
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_names_what_is_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".kernelwright").write_text("not a folder")
    ended = kernelwright("doctor", "--interpreter", "/no/such/python")
    assert ended.exit_code == 0
    assert re.search(r"missing +interpreter +The interpreter /no/such/python does not exist", ended.stdout)
    assert re.search(r"missing +journal .*\.kernelwright is not a folder +Move that file away\.", ended.stdout)
