"""`--json -`: one JSON value on stdout, with the keys that the page names, and all else on stderr."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from typer.testing import Result

from cli.terminal import SCORE, SMALL, file, kernelwright
from kernelwright.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs/json.md").read_text(encoding="utf-8")
KEYS = {
    command: re.findall(r"`(\w+)`", keys)
    for commands, keys in re.findall(r"^\| (`\w+`.*?) \| (`.*?) \|$", PAGE, re.MULTILINE)
    for command in re.findall(r"`(\w+)`", commands)
}


def test_the_page_names_every_command_that_has_the_option() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    having = {name for name, command in commands.items() if any("--json" in one.opts for one in command.params)}
    assert having == KEYS.keys()
    assert commands.keys() - having == {"bench", "mcp", "serve"}


def result(ended: Result, command: str, status: int = 0) -> dict[str, object]:
    assert ended.exit_code == status, ended.output
    value: dict[str, object] = json.loads(ended.stdout)
    assert list(value) == KEYS[command]
    assert value["schema"] == 1
    return value


def test_the_life_of_a_file(tmp_path: Path) -> None:
    path = file(tmp_path, SCORE)

    def run(command: str, *options: object) -> tuple[dict[str, object], str]:
        ended = kernelwright(command, path, *options, "--json", "-")
        return result(ended, command), ended.stderr

    optimized, said = run("optimize", "--write", "--diff", "--strategy", "torch.reassociate")
    (step,) = optimized["steps"]  # type: ignore[misc]
    assert optimized["speedup"]["low"] > 1  # type: ignore[index]
    assert "kept" in said
    assert "+        " in said
    listed, _ = run("list")
    assert [one["next"] for one in listed["kernels"]] == [
        f"kernelwright optimize {os.path.relpath(path)} --kernel Score"
    ]  # type: ignore[attr-defined]
    found, said = run("history")
    assert [one["id"] for one in found["steps"]] == [step["id"]]  # type: ignore[attr-defined]
    assert "Sum the weights of a linear layer" in found["sentences"][0]  # type: ignore[index]
    assert step["id"] in said
    exported, _ = run("export")
    assert exported["out"] is None
    compile(str(exported["script"]), "script", "exec")
    replayed, said = run("replay")
    assert replayed["ending"] in " ".join(said.split())
    reverted, said = run("revert")
    assert reverted["reverted"] == [step["id"]]
    assert "Took back" in said
    assert path.read_text() == SCORE


@pytest.mark.parametrize(("change", "status"), [("y.sum(1, True)", 0), ("y.sum(1, True) + 0.01", 1)])
def test_a_verdict(tmp_path: Path, change: str, status: int) -> None:
    changed = file(tmp_path, SMALL.replace("torch.sum(y, dim=1, keepdim=True)", change))
    ended = kernelwright("verify", changed, "--against", file(tmp_path, SMALL, "baseline.py"), "--json", "-")
    verdict = result(ended, "verify", status)["result"]["verdict"]  # type: ignore[index]
    assert verdict["status"] == ("failed" if status else "passed")
    assert "Check values failed" in ended.stderr if status else "Verified: passed" in ended.stderr


def test_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert result(kernelwright("strategies", "--json", "-"), "strategies")["strategies"]
    assert result(kernelwright("doctor", "--json", "-"), "doctor")["lines"]
    path = file(tmp_path, SMALL)
    ended = kernelwright("profile", path, "--json", "-")
    assert result(ended, "profile")["sentence"] in ended.stderr
    assert result(kernelwright("history", path, "--json", "-"), "history")["steps"] == []
    assert "No steps yet" in kernelwright("history", path).stdout, "said on stdout again"


def test_what_a_recorded_command_prints_is_not_the_result(tmp_path: Path) -> None:
    file(tmp_path, SMALL.partition("# workload")[0])
    file(tmp_path, "import torch\nfrom score import Score\nprint('loud')\nScore(4, 5)(torch.ones(2, 4))\n", "run.py")
    start = [sys.executable, "-m", "kernelwright"]
    command = [*start, "record", "--json", "-", "--", sys.executable, "run.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    value = json.loads(ended.stdout)
    assert list(value) == KEYS["record"]
    assert value["recorded"][0]["lines"] == ["Score(4, 5)(ones(2, 4))"]
    assert "loud" in ended.stderr
    inferred = json.loads(
        subprocess.run(
            [*start, "infer", ".", "--json", "-"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
    )
    assert list(inferred) == KEYS["infer"]


def test_where_there_is_no_result_stdout_is_empty(tmp_path: Path) -> None:
    ended = kernelwright("verify", file(tmp_path, SMALL), "--json", "-")
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert "No baseline of Score is known" in " ".join(ended.stderr.split())
    assert not (Path.cwd() / "-").exists()
