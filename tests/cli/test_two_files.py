"""A kernel in one file and its launch in another, on the command line: a step changes both, or neither."""

import json
from pathlib import Path

import pytest

from cli.terminal import kernelwright

KERNELS = '''\
"""Kernels."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)
'''
LAYERS = '''\
"""Layers."""

from __future__ import annotations

import torch
import triton

from .inner.kernels import copy_kernel


# workload: copied(randn(1000))
def copied(x):
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 256),)
    copy_kernel[grid](x, out, x.numel(), BLOCK=256, num_warps=4)
    return out
'''
FROM_EITHER = [["package/inner/kernels.py"], ["package/layers.py", "--kernel", "copy_kernel"]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "package/inner").mkdir(parents=True)
    for name, text in (
        ("package/__init__.py", "from .layers import copied\n"),
        ("package/inner/__init__.py", ""),
        ("package/inner/kernels.py", KERNELS),
        ("package/layers.py", LAYERS),
    ):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts() -> tuple[str, str]:
    return Path("package/inner/kernels.py").read_text(), Path("package/layers.py").read_text()


@pytest.mark.parametrize("place", FROM_EITHER, ids=["kernel", "launcher"])
def test_a_step_changes_both_and_is_made_again_and_taken_back(project: Path, place: list[str]) -> None:
    ended = kernelwright("optimize", *place, "--strategy", "triton.autotune", "--write", "--json", "step.json")
    assert ended.exit_code == 0, ended.output
    (step,) = json.loads(Path("step.json").read_text())["steps"]
    assert step["outcome"] == "kept", step["reason"]
    assert "1 of 1 kernel launched, all 6 lines ran" in ended.output, "those of the kernel and of its launcher"
    assert "Wrote package/inner/kernels.py and package/layers.py." in ended.output
    kernels, layers = after = texts()
    assert 'triton.Config({"BLOCK": 256}, num_warps=4)' in kernels
    assert kernels.replace(kernels[kernels.index("@triton.autotune") : kernels.index("@triton.jit")], "") == KERNELS
    assert 'grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)' in layers
    assert "copy_kernel[grid](x, out, x.numel())" in layers

    assert step["id"] in kernelwright("history", "package/inner/kernels.py").output
    refused = kernelwright("export", "package/inner/kernels.py")
    assert refused.exit_code == 2
    assert f"Step {step['id']} was made on two files" in refused.output

    (project / "package/inner/kernels.py").write_text(KERNELS)
    (project / "package/layers.py").write_text(LAYERS)
    again = kernelwright("replay", *place, "--write")
    assert again.exit_code == 0, again.output
    assert texts() == after

    back = kernelwright("revert", "package/inner/kernels.py")
    assert back.exit_code == 0, back.output
    assert "wrote package/inner/kernels.py and package/layers.py" in back.output
    assert texts() == (KERNELS, LAYERS)


def test_a_wrong_page_is_found_whichever_it_is(project: Path) -> None:
    """The gate runs the texts that it is given, and not what the files hold."""
    assert kernelwright("optimize", *FROM_EITHER[0], "--strategy", "triton.autotune", "--write").exit_code == 0
    for name, old, new in (
        ("package/inner/kernels.py", "tl.load(x_ptr + at, mask=at < n)", "2 * tl.load(x_ptr + at, mask=at < n)"),
        ("package/layers.py", "(x, out, x.numel())", "(x, out, x.numel() - 1)"),
    ):
        file = project / name
        right = file.read_text()
        file.write_text(right.replace(old, new))
        failed = kernelwright("verify", *FROM_EITHER[1])
        assert failed.exit_code == 1, failed.output
        file.write_text(right)
    assert kernelwright("verify", *FROM_EITHER[1]).exit_code == 0


def test_neither_is_written_where_one_has_changed_meanwhile(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelwright import steps

    layers = project / "package/layers.py"
    decide = steps.decide

    def meanwhile(*given: object, **named: object) -> object:
        layers.write_text(LAYERS + "# typed\n")
        return decide(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("kernelwright.attempting.decide", meanwhile)
    ended = kernelwright("optimize", *FROM_EITHER[0], "--strategy", "triton.autotune", "--write")
    assert ended.exit_code == 2, ended.output
    assert "layers.py changed while it was being optimised; nothing was written." in ended.output
    assert texts() == (KERNELS, LAYERS + "# typed\n")
    assert "kept" not in kernelwright("history", "package/inner/kernels.py").output


def test_line_ends_stay_as_they_are(project: Path) -> None:
    for name, text in (("package/inner/kernels.py", KERNELS), ("package/layers.py", LAYERS)):
        (project / name).write_bytes(text.replace("\n", "\r\n").encode())
    ended = kernelwright("optimize", *FROM_EITHER[1], "--strategy", "triton.autotune", "--write")
    assert ended.exit_code == 0, ended.output
    for name in ("package/inner/kernels.py", "package/layers.py"):
        written = (project / name).read_bytes()
        assert b"\r\n" in written
        assert b"BLOCK=256" not in written


def test_several_launching_files_are_told(project: Path) -> None:
    (project / "package/more.py").write_text(LAYERS)
    ended = kernelwright("optimize", *FROM_EITHER[0])
    assert ended.exit_code == 2
    assert "copy_kernel is launched from several files (../layers.py, ../more.py)" in ended.output


def test_the_list_says_how_it_is_called_there(project: Path) -> None:
    listed = kernelwright("list", "package")
    assert (
        "copy_kernel  package/inner/kernels.py: copied(randn(1000)); launched by copied in package/layers.py"
        in listed.output
    )
    assert "kernelwright optimize package/inner/kernels.py --kernel copy_kernel" in listed.output
    (project / "package/layers.py").write_text(LAYERS.replace("# workload: copied(randn(1000))\n", ""))
    listed = kernelwright("list", "package")
    assert "Launched by copied in package/layers.py; no workload says with what." in listed.output
