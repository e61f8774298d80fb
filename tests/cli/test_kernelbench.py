"""`bench kernelbench` on two tasks of our own in KernelBench's convention."""

import json
from pathlib import Path

import pytest

from cli.terminal import kernelwright
from kernelwright.cli.kernelbench_table import reduced

SUM = """\
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.linear = nn.Linear(features, width)

    def forward(self, x):
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return [256, 512]
"""
BROKEN = SUM.replace("torch.randn(64, 256)", "torch.randn(64, 255)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    level = tmp_path / "KernelBench" / "level1"
    level.mkdir(parents=True)
    (level / "1_Sum.py").write_text(SUM)
    (level / "2_Broken.py").write_text(BROKEN)
    return tmp_path


def test_results_are_lines_and_a_run_can_be_resumed(folder: Path) -> None:
    out = folder / "results.jsonl"
    bench = ("bench", "kernelbench", folder, "--out", out, "--steps", "1", "--no-torch-compile")
    ended = kernelwright(*bench, "--tasks", "1")
    assert ended.exit_code == 0, ended.output
    (first,) = map(json.loads, out.read_text().splitlines())
    assert (first["schema"], first["level"], first["task"], first["name"]) == (1, 1, 1, "1_Sum")
    assert first["steps"][0]["outcome"] == "kept"
    assert first["verified_again"]["passed"]
    assert set(first["timings"]) == {"eager", "eager-tf32", "candidate"}

    refused = kernelwright(*bench)
    assert refused.exit_code == 2
    assert "exists already; add --resume to go on with it, or choose another --out." in refused.stderr

    line = out.read_bytes()
    out.write_bytes(line + b'{"level": 1, "task": 2, "st')  # as a kill leaves it
    resumed = kernelwright(*bench, "--resume", "--tasks", "1-2")
    assert resumed.exit_code == 0, resumed.output
    assert "1_Sum" not in resumed.stdout
    assert out.read_bytes().startswith(line)
    second = json.loads(out.read_text().splitlines()[-1])
    assert second["task"] == 2
    assert second["steps"] == []
    assert "RuntimeError" in second["ending"]
    assert "eager" in resumed.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--tasks", "1-"), "--tasks '1-' is not a list of numbers and ranges; write it like 1-40,57."),
        (("--tasks", "90"), "has no task 90"),
        (("--without", "torch.magic"), "There is no strategy 'torch.magic'; choose one of "),
        (("--level", "2"), "has no folder level2; name the folder that holds KernelBench's levels."),
        (("--out", "/no/such/folder/out.jsonl"), "the folder /no/such/folder does not exist."),
    ],
)
def test_bad_options(folder: Path, options: tuple[str, ...], sentence: str) -> None:
    ended = kernelwright("bench", "kernelbench", folder, "--out", folder / "out.jsonl", *options)
    assert ended.exit_code == 2, ended.output
    assert sentence in ended.stderr


def test_a_file_of_something_else_is_not_added_to(folder: Path) -> None:
    other = folder / "other.json"
    other.write_text('{"mine": 1}\n')
    ended = kernelwright("bench", "kernelbench", folder, "--out", other, "--resume")
    assert ended.exit_code == 2
    assert "Line 1 of" in ended.stderr
    assert other.read_text() == '{"mine": 1}\n'


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], False),
        ([{"outcome": "kept"}], False),  # written before there were classes
        ([{"outcome": "kept", "accuracy": "reduced accuracy"}], True),
        ([{"outcome": "rejected", "accuracy": "reduced accuracy"}], False),
        (
            [
                {"outcome": "kept", "accuracy": "reduced accuracy"},
                {"outcome": "kept", "accuracy": "as accurate as the baseline"},
            ],
            False,
        ),
    ],
)
def test_what_was_kept_is_of_reduced_accuracy(steps: list[dict[str, str]], expected: bool) -> None:
    assert reduced({"steps": steps}) is expected
