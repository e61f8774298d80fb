"""`prompt`, and `optimize --model`: what a model is asked, and what becomes of its answer, on the command line."""

import json
from pathlib import Path

import pytest

from cli.terminal import SCORE, SMALL, file, kernelwright
from coders.test_model import RIGHT, WRONG
from prompting.test_reply import block

STRATEGY = "torch.reassociate.reduce-features"


def reply(folder: Path, text: str) -> Path:
    path = folder / "reply.md"
    path.write_text(text)
    return path


def test_the_prompt_is_printed_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path, out = file(tmp_path, SMALL.encode()), tmp_path / "prompt.json"
    ended = kernelwright("prompt", path, "--strategy", STRATEGY, "--json", out)
    assert ended.exit_code == 0, ended.output
    system, user = json.loads(out.read_text())["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert f"(`{STRATEGY}`)" in user["text"].splitlines()[0]
    assert "return torch.sum(y, dim=1, keepdim=True)" in user["text"]
    assert system["text"] in ended.stdout
    assert user["text"] in ended.stdout
    assert sorted(one.name for one in tmp_path.iterdir()) == ["prompt.json", "score.py"]


def test_a_reply_is_played_through_gate_clock_and_journal(tmp_path: Path) -> None:
    path, out = file(tmp_path, SCORE.encode()), tmp_path / "result.json"
    answer = reply(tmp_path, f"The sum moves into the weights.\n\n{RIGHT}\n")
    ended = kernelwright("prompt", path, "--strategy", STRATEGY, "--reply", answer, "--write", "--json", out)
    assert ended.exit_code == 0, ended.output
    assert "Written by reply.md." in ended.stdout
    assert "(x @ weight + bias)[:, None]" in path.read_text()
    result = json.loads(out.read_text())
    assert result["speedup"]["low"] > 1.0
    assert result["steps"][0]["author"] == "reply.md"
    assert "reply.md" in kernelwright("history", path).stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WRONG, "Check shape failed"),
        ("The kernel is fine.", "has no block that begins with"),
        (block("import torch", "import torch, os"), "Line 1 (`import torch`) is outside of what may be changed"),
    ],
)
def test_a_reply_that_may_not_be_kept_changes_nothing(tmp_path: Path, text: str, said: str) -> None:
    path = file(tmp_path, SMALL.encode())
    ended = kernelwright("prompt", path, "--strategy", STRATEGY, "--reply", reply(tmp_path, text), "--write")
    assert ended.exit_code == 0, ended.output
    assert "rejected" in ended.stdout
    assert said in ended.stdout
    assert path.read_text() == SMALL


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--strategy", "torch.magic"), "There is no strategy 'torch.magic'"),
        (("--strategy", "triton.tune-launch"), "is not for torch kernels such as Score"),
        (("--strategy", STRATEGY, "--reply", "nowhere.md"), "nowhere.md does not exist."),
    ],
)
def test_bad_input_is_told_in_a_sentence(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = kernelwright("prompt", file(tmp_path, SMALL.encode()), *arguments)
    assert ended.exit_code == 2
    assert said in ended.stderr


def test_a_model_is_asked_by_an_option_and_its_answers_are_logged_for_replay(tmp_path: Path) -> None:
    path, log, again = file(tmp_path, SCORE.encode()), tmp_path / "log.jsonl", tmp_path / "again.jsonl"
    log.write_text(json.dumps({"reply": RIGHT, "usage": {"calls": 1, "tokens_in": 900, "tokens_out": 100}}) + "\n")
    asked = ("optimize", path, "--strategy", STRATEGY, "--model-order", "before", "--model-rounds", 1)
    first = kernelwright(*asked, "--model", f"replay:{log}", "--model-log", again)
    assert first.exit_code == 0, first.output
    assert "Written by replay:log.jsonl. Took 1 answer, 1,000 tokens" in first.stdout
    second = kernelwright(*asked, "--model", f"replay:{again}")
    assert "Written by replay:again.jsonl. Took 1 answer, 1,000 tokens" in second.stdout


def test_what_was_spent_is_told_by_the_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, log = file(tmp_path, SCORE), tmp_path / "log.jsonl"
    usage = {"calls": 1, "tokens_in": 900, "tokens_out": 100, "dollars": 0.25, "seconds": 2.0}
    log.write_text(json.dumps({"reply": RIGHT, "usage": usage}) + "\n")
    asked = ("--strategy", STRATEGY, "--model", f"replay:{log}", "--model-order", "before", "--write")
    assert kernelwright("optimize", path, *asked).exit_code == 0
    monkeypatch.chdir(tmp_path)
    said = " ".join(kernelwright("doctor").stdout.split())
    assert "replay:log.jsonl: 1 answer, 1,000 tokens, 0.25 US dollars, 2 s" in said


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gpt", "begins with no word that is known"),
        ("dir:", "is not complete: write dir:FOLDER"),
        ("editor", "works in an editor only"),
    ],
)
def test_a_model_that_is_none_is_told_in_a_sentence(tmp_path: Path, model: str, said: str) -> None:
    ended = kernelwright("optimize", file(tmp_path, SMALL.encode()), "--model", model)
    assert ended.exit_code == 2
    assert said in ended.stderr
