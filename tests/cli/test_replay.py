"""`replay` on the CPU with real workers: kept steps are taken again after a file has changed."""

import json
from pathlib import Path

from cli.terminal import SCORE, file, kernelwright

CHANGED = "# Wider.\n\n" + SCORE.replace("nn.Linear(features, width)", "nn.Linear(features, 2 * width)")


def test_a_kept_step_is_taken_again(tmp_path: Path) -> None:
    path, out = file(tmp_path, SCORE), tmp_path / "result.json"
    ended = kernelwright("optimize", path, "--write", "--strategy", "torch.reassociate", "--json", out)
    assert ended.exit_code == 0, ended.output
    (first,) = json.loads(out.read_text())["steps"]
    assert first["outcome"] == "kept"

    dry = kernelwright("replay", path)
    assert dry.exit_code == 0, dry.output
    assert "is left out: " in dry.stdout
    assert "no kept step" not in dry.output

    path.write_text(CHANGED)
    ended = kernelwright("replay", path, "--reset-baseline", "--write", "--json", out)
    assert ended.exit_code == 0, ended.output
    result = json.loads(out.read_text())
    (step,) = result["steps"]
    assert (step["outcome"], step["replays"], result["ending"]) == ("kept", first["id"], "")
    assert step["verdict"]["status"] == "passed"
    assert step["action"]["strategy"] == first["action"]["strategy"]
    assert "torch.sum(y, dim=1" not in path.read_text()
    assert result["speedup"]["low"] > 1.0

    written = path.read_text()
    assert kernelwright("replay", path, "--write", "--json", out).exit_code == 0
    result = json.loads(out.read_text())
    assert result["steps"] == []
    assert result["ending"].count("is left out: ") == 1, "the step and the one that took its place are one"
    assert path.read_text() == written


def test_a_text_that_computes_something_else_is_refused_by_the_gate_of_the_old_baseline(tmp_path: Path) -> None:
    path, out = file(tmp_path, SCORE), tmp_path / "result.json"
    assert kernelwright("optimize", path, "--write", "--strategy", "torch.reassociate").exit_code == 0
    path.write_text(SCORE.replace("keepdim=True)", "keepdim=True) + 1.0"))
    ended = kernelwright("replay", path, "--write", "--json", out)
    assert ended.exit_code == 0, ended.output
    (step,) = json.loads(out.read_text())["steps"]
    assert step["outcome"] == "rejected"
    assert step["verdict"]["status"] == "failed"
    assert "+ 1.0" in path.read_text()


def test_without_a_kept_step_there_is_nothing_to_replay(tmp_path: Path) -> None:
    path = file(tmp_path, SCORE)
    ended = kernelwright("replay", path)
    assert ended.exit_code == 2
    assert "The journal has no kept step of Score in " in " ".join(ended.stderr.split())
    assert [one.name for one in tmp_path.iterdir()] == ["score.py"]
