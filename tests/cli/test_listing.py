"""`list`, `strategies`, `doctor` and `--version`: what there is, said without leaving a trace."""

import json
import re
from pathlib import Path

import pytest

from cli.terminal import COPY, SMALL, file, kernelwright
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


def test_each_kernel_is_listed_with_what_it_lacks_and_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    file(tmp_path, COPY.split("# workload")[0], "copying.py")
    file(tmp_path, SMALL, "scored.py")
    file(tmp_path, SMALL.split("# workload")[0].replace("Score", "Other"), "other.py")
    file(tmp_path, SMALL.replace("(randn", "((randn").replace("Score", "Wrong"), "wrong.py")
    file(tmp_path / "tests", "from copying import copy\n\ndef test_copy():\n    copy(x)\n", "test_copying.py")
    ended = kernelwright("list", ".", "--json", "rows.json")
    assert ended.exit_code == 0, ended.output
    rows = {row["kernel"]: row for row in json.loads((tmp_path / "rows.json").read_text())["kernels"]}
    assert {name: row["next"] for name, row in rows.items()} == {
        "copy_kernel": "kernelwright record --write -- pytest tests/test_copying.py",
        "Score": "kernelwright optimize scored.py --kernel Score",
        "Other": "kernelwright infer --write other.py",
        "Wrong": "",
    }
    assert {name for name, row in rows.items() if row["missing"]} == {"copy_kernel", "Other", "Wrong"}
    assert "Score  scored.py: Score(16, 32)(randn(8, 16))\n  kernelwright optimize" in ended.stdout


def test_a_program_of_cuda_is_recorded_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kernel = "__global__ void scale(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }\n"
    program = "int main() { float* x; cudaMalloc(&x, 400); scale<<<1, 128>>>(x, 100); cudaDeviceSynchronize(); }\n"
    file(tmp_path, kernel + program, "scaled.cu")
    assert kernelwright("list", ".").stdout.splitlines()[-1] == "  kernelwright record --write -- scaled.cu"


def test_a_command_that_several_kernels_share_stands_below_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bare = SMALL.split("# workload")[0]
    file(tmp_path, bare + "\n\n" + bare.partition("\n\n\n")[2].replace("Score", "Other"), "scored.py")
    ended = kernelwright("list", ".")
    first, second, command = ended.stdout.splitlines()
    assert first.startswith("Score  scored.py: ")
    assert second.startswith("Other  scored.py: ")
    assert command == "  kernelwright infer --write scored.py"


def test_a_kernel_that_another_file_launches_is_listed_with_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kernel, _, launcher = COPY.split("# workload")[0].partition("def copy(")
    file(
        tmp_path, f"import torch\nimport triton\nfrom kernels import copy_kernel\n\n\ndef copy({launcher}", "layers.py"
    )
    file(tmp_path, kernel, "kernels.py")
    asked = "copy_kernel  kernels.py: Launched by copy in layers.py; no workload says with what.\n"
    assert f"{asked}  kernelwright infer --write kernels.py\n" in kernelwright("list", ".").stdout
    line = "copy_kernel[(4,)](randn(1000), out(1000), 1000, BLOCK=256)"
    file(tmp_path, kernel.replace("@triton.jit", f"# workload: {line}\n@triton.jit"), "kernels.py")
    written = f"copy_kernel  kernels.py: {line}; launched by copy in layers.py\n"
    following = "  kernelwright optimize kernels.py --kernel copy_kernel\n"
    assert f"{written}{following}" in kernelwright("list", ".").stdout


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
        "z3",
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
