"""`profile`: a table, the sentence, and JSON that says what was measured and what was not."""

import json
from pathlib import Path

import pytest

from cli.terminal import COPY, SMALL, file, kernelwright


def test_a_module_on_a_cpu(tmp_path: Path) -> None:
    out = tmp_path / "profile.json"
    ended = kernelwright("profile", file(tmp_path, SMALL), "--json", out)
    assert ended.exit_code == 0, ended.output
    assert "aten::addmm" in ended.stdout
    assert "Hand-written kernel share 0 %, rest library (" in ended.stdout
    assert "no GPU here, so no GPU kernel was measured" in ended.stdout
    said = json.loads(out.read_text())
    assert (said["schema"], said["kernel"]) == (1, "Score")
    assert said["sentence"] in ended.stdout
    assert said["result"]["measured_on"] == "cpu"
    assert said["result"]["hand_written_share"] == 0.0
    assert said["device"]["kind"] == "cpu"
    assert not (tmp_path / ".kernelwright").exists()


def test_a_triton_kernel_without_a_gpu(tmp_path: Path) -> None:
    out = tmp_path / "profile.json"
    ended = kernelwright("profile", file(tmp_path, COPY), "--kernel", "copy_kernel", "--json", out)
    assert ended.exit_code == 0, ended.output
    (row,) = [line.split() for line in ended.stdout.splitlines() if line.lstrip().startswith("copy_kernel")]
    assert row == ["copy_kernel", "hand-written", "1", "not", "measured"]
    assert "Hand-written kernels: 1 of 1 launches and operator calls in one call" in ended.stdout
    assert "share of the time not measured: no GPU runs it" in ended.stdout
    assert "%" not in ended.stdout
    assert json.loads(out.read_text())["result"]["time_us"] is None


def test_many_operators_are_one_row_after_the_first_twenty(tmp_path: Path) -> None:
    names = (
        "abs ceil cos cosh erf exp expm1 floor log1p neg relu round rsqrt sigmoid sign sin sinh sqrt square tan tanh"
    )
    text = f"def f(x):\n    return {' + '.join(f'x.{name}()' for name in names.split())}\n\n\n# workload: f(rand(1 << 16))\n"
    ended = kernelwright("profile", file(tmp_path, text))
    assert ended.exit_code == 0, ended.output
    rows = [line for line in ended.stdout.splitlines() if line.strip().startswith("aten::")]
    assert len(rows) == 20
    assert " more " in ended.stdout


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("x = 1\n", (), "has no kernel"),
        (SMALL, ("--kernel", "Other"), "has no kernel 'Other'; it has Score"),
        (SMALL.replace("# workload: Score(16, 32)(randn(8, 16))", ""), (), "workload"),
        (SMALL.replace("randn(8, 16)", "randn(8, 17)"), (), "Calling Score raised RuntimeError"),
        (SMALL, ("--interpreter", "/no/python"), "/no/python does not exist"),
    ],
)
def test_what_cannot_be_profiled_is_one_sentence(
    tmp_path: Path, text: str, arguments: tuple[str, ...], words: str
) -> None:
    ended = kernelwright("profile", file(tmp_path, text), *arguments)
    assert ended.exit_code == 2, ended.output
    assert words in ended.stderr
    assert "Traceback" not in ended.output
