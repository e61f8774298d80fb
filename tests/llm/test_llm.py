"""`python -m benchmarks.llm` on a task of our own: scripted answers of both arms through the gate and the clock."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.llm import __main__ as program
from benchmarks.llm.__main__ import WITHOUT_GPU, main
from benchmarks.llm.table import COLUMNS, rows, speedup

from cli.test_kernelbench import SUM
from kernelwright.settings import Settings
from prompting.test_reply import block

TASK = SUM.replace("(64, 256)", "(256, 1024)").replace("[256, 512]", "[1024, 1024]")
BODY = "        y = self.linear(x)\n        return torch.sum(y, dim=1, keepdim=True)"
BETTER = "        weight, bias = self.linear.weight.sum(0), self.linear.bias.sum()\n        return (x @ weight + bias)[:, None]"
WORSE = "        return torch.sum(self.linear(x), dim=0, keepdim=True)[0, :256, None]"
MODULE = TASK[TASK.index("class") : TASK.index("\n\n\ndef get_inputs")]


def whole(body: str) -> str:
    return f"```python\n{MODULE.replace(BODY, body)}\n```"


RIGHT = {"stepwise": block(BODY, BETTER), "one-shot": whole(BETTER)}
WRONG = {"stepwise": block(BODY, WORSE), "one-shot": whole(WORSE)}
MALFORMED = "It is fine as it is."


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(program, "Settings", functools.partial(Settings, timing_budget=0.2))
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "1_Sum.py").write_text(TASK)
    (tmp_path / "replies").mkdir()
    return tmp_path


def says(folder: Path, arm: str, *answers: str) -> None:
    lines = (json.dumps({"reply": answer}) for answer in answers)
    (folder / "replies" / f"1-1-{arm}.jsonl").write_text("".join(f"{line}\n" for line in lines))


def run(folder: Path, *options: str, calls: int = 3) -> int:
    out = ("--calls", str(calls), "--out", str(folder / "llm.jsonl"))
    return main([f"replay:{folder / 'replies'}", str(folder), "--tasks", "1-1", *out, *options])


def lines_of(folder: Path) -> dict[str, dict[str, Any]]:
    found = map(json.loads, (folder / "llm.jsonl").read_text().splitlines())
    return {line["arm"]: line for line in found}


def test_both_arms_have_the_same_calls_and_the_same_judge(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arm in RIGHT:
        says(bench, arm, MALFORMED, WRONG[arm], RIGHT[arm], "never asked for")
    assert run(bench, "--log", str(bench / "log")) == 0
    found = lines_of(bench)
    assert list(found) == list(RIGHT)
    for arm, line in found.items():
        assert line["usage"]["calls"] == 3
        assert [step["outcome"] for step in line["steps"]] == ["rejected", "rejected", "kept"]
        assert [step["verdict"] for step in line["steps"]] == [None, "failed", "passed"]
        assert line["steps"][0]["failure"].startswith("The answer has ")
        busy = "Speed not measured" in line["unmeasured"]
        assert busy or line["speedup"]["ratio"] > 1.02
        logged = [json.loads(one)["reply"] for one in (bench / "log" / f"1-1-{arm}.jsonl").read_text().splitlines()]
        assert logged == [MALFORMED, WRONG[arm], RIGHT[arm]]
    assert {step["strategy"] for step in found["stepwise"]["steps"]} == {"torch.reassociate.reduce-features"}
    printed = capsys.readouterr().out
    assert "| stepwise | 1 | 3 | 0.333 | 1 |" in printed
    assert "| one-shot | 1 | 3 | 0.333 | 1 |" in printed
    assert (WITHOUT_GPU in printed) is (found["stepwise"]["device"]["kind"] == "cpu")


def test_a_run_goes_on_where_it_was_broken_off(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    says(bench, "stepwise", RIGHT["stepwise"])
    says(bench, "one-shot")
    assert run(bench, calls=1) == 2
    assert "1-1-one-shot has no answer: " in capsys.readouterr().err
    (first,) = lines_of(bench).values()
    assert (first["arm"], first["steps"][0]["outcome"]) == ("stepwise", "kept")

    out = bench / "llm.jsonl"
    out.write_text(out.read_text() + '{"level": 1, "ta')  # as a kill leaves it
    says(bench, "stepwise")
    says(bench, "one-shot", WRONG["one-shot"])
    assert run(bench, calls=1) == 2
    assert "exists already; add --resume" in capsys.readouterr().err
    assert run(bench, "--resume", calls=2) == 2
    assert "with other options; choose another --out." in capsys.readouterr().err
    assert run(bench, "--resume", calls=1) == 0
    kept, _, added = out.read_text().splitlines()
    assert json.loads(kept) == first
    assert json.loads(added)["steps"][0]["verdict"] == "failed"


def test_the_policy_leaves_out_what_is_switched_off(bench: Path) -> None:
    for arm in RIGHT:
        says(bench, arm, MALFORMED)
    assert run(bench, "--without", "torch.reassociate", calls=1) == 0
    found = lines_of(bench)
    assert all(line["settings"]["without"] == "torch.reassociate" for line in found.values())
    tried = {step["strategy"] for step in found["stepwise"]["steps"]}
    assert not any(strategy.startswith("torch.reassociate") for strategy in tried)
    assert [step["strategy"] for step in found["one-shot"]["steps"]] == ["torch.rewrite.algorithm"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nobody:x", ".", "--tasks", "1-1"], "begins with no word that is known"),
        (["", ".", "--tasks", "1-1"], "PROVIDER is empty"),
        (["dir:x", ".", "--tasks", "1-2"], "has no task 2"),
        (["dir:x", ".", "--tasks", "1-1", "--without", "torch.guess"], "No strategy is called torch.guess."),
    ],
)
def test_bad_options(
    bench: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(bench)
    assert main(arguments) == 2
    assert sentence in capsys.readouterr().err


def line(
    arm: str, task: int, outcome: str, ratio: float | None, verdicts: tuple[str, ...] = ("passed",)
) -> dict[str, Any]:
    return {
        "arm": arm,
        "level": 1,
        "task": task,
        "steps": [{"outcome": outcome, "verdict": verdict} for verdict in verdicts],
        "speedup": ratio and {"ratio": ratio},
        "usage": {"calls": 2, "tokens_in": 10, "tokens_out": 5, "dollars": 0.5},
        "seconds": 2.0,
    }


def test_rows_speak_of_the_tasks_of_all_arms() -> None:
    lines = [
        line("stepwise", 1, "kept", 4.0),
        line("stepwise", 2, "kept", None),
        line("stepwise", 3, "rejected", None, ("failed", "passed")),
        line("stepwise", 4, "kept", 9.0),
        line("one-shot", 1, "kept", 1.5),
        line("one-shot", 2, "kept", 2.0),
        line("one-shot", 3, "rejected", None, ("failed",)),
    ]
    assert [speedup(one) for one in lines[:3]] == [4.0, None, 1.0]
    first, second = (dict(zip(COLUMNS, row, strict=True)) for row in rows(lines))
    assert (first["tasks"], first["calls"], first["passed_the_gate"]) == (3, 6, 0.5)
    assert (first["tasks_with_a_kept_step"], first["timed"]) == (pytest.approx(2 / 3), 2)
    assert (first["fast_1"], first["fast_2"], first["geomean"]) == (0.5, 0.5, pytest.approx(2.0))
    assert (first["tokens"], first["dollars"], first["seconds"]) == (45, 1.5, 6.0)
    assert (second["fast_1"], second["fast_2"], second["geomean"]) == (0.5, 0.0, pytest.approx(1.5**0.5))
