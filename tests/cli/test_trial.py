"""`verify` and `measure` against another file: exit status 0 when the gate passes, 1 when it does not."""

import json
from pathlib import Path

import pytest

from cli.terminal import COPY, SMALL, file, kernelwright

SAME = SMALL.replace("torch.sum(y, dim=1, keepdim=True)", "y.sum(1, True)")
COPY_DOWN = COPY.replace("BLOCK=256", "BLOCK=128").replace("(x.numel(), 256)", "(x.numel(), 128)")
KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)
"""
LAUNCHED = "# workload: add[(8,)](randn(1000), randn(1000), zeros(1000), 1000, BLOCK=128)\n" + KERNEL

WRONG = SMALL.replace("torch.sum(y, dim=1, keepdim=True)", "torch.sum(y, dim=1, keepdim=True) + 0.01")


def test_what_means_the_same_passes_and_is_timed(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    ended = kernelwright(
        "measure", file(tmp_path, SAME), "--against", file(tmp_path, SMALL, "baseline.py"), "--json", out
    )
    assert ended.exit_code == 0, ended.output
    assert "Verified: " in ended.stdout
    assert "95 % CI" in ended.stdout
    result = json.loads(out.read_text())
    assert result["schema"] == 1
    assert result["result"]["verdict"]["status"] == "passed"
    assert result["result"]["measurement"]["baseline"]["median_ms"] > 0
    assert not (tmp_path / ".kernelwright").exists()


@pytest.mark.parametrize("command", ["verify", "measure"])
def test_what_means_something_else_does_not(tmp_path: Path, command: str) -> None:
    ended = kernelwright(command, file(tmp_path, WRONG), "--against", file(tmp_path, SMALL, "baseline.py"))
    assert ended.exit_code == 1, ended.output
    assert "Check values failed on" in ended.stdout
    assert "CI" not in ended.stdout


@pytest.mark.parametrize("command", ["verify", "measure"])
def test_without_a_baseline_nothing_is_compared(tmp_path: Path, command: str) -> None:
    out = tmp_path / "result.json"
    ended = kernelwright(command, file(tmp_path, SMALL), "--json", out)
    assert ended.exit_code == 2, ended.output
    assert "No baseline of Score is known" in " ".join(ended.stderr.split())
    assert "--against FILE" in " ".join(ended.stderr.split())
    assert "Verified" not in ended.output
    assert not out.exists()


def test_checks_that_cannot_be_made_here_are_told(tmp_path: Path) -> None:
    ended = kernelwright(
        "verify", file(tmp_path, COPY_DOWN, "copy.py"), "--against", file(tmp_path, COPY, "baseline.py")
    )
    assert ended.exit_code == 0, ended.output
    rows = dict(
        line.split(maxsplit=1) for line in ended.stdout.splitlines() if " not made " in line or " 1 of 1 " in line
    )
    assert {name for name, told in rows.items() if told.startswith("not made")} == {"gradient", "stream-order"}
    assert {"race", "out-of-bounds"} <= rows.keys()


def test_a_baseline_of_the_same_text_is_told_first(tmp_path: Path) -> None:
    ended = kernelwright("verify", file(tmp_path, SMALL), "--against", file(tmp_path, SMALL, "baseline.py"))
    assert ended.exit_code == 0, ended.output
    assert "Verified, the baseline is this very text: " in " ".join(ended.stdout.split())
    lines = [line for line in ended.stderr.splitlines() if line.startswith("  …")]
    assert 2 <= len(lines) < 10
    assert not any(" of " in line for line in lines), "counting floods a log"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        (("offsets < n", "n > offsets"), 0),
        (("mask) + tl", "mask) - tl"), 1),
        (("total, mask=mask", "total, mask=offsets < n - 1"), 1),
    ],
)
def test_a_kernel_that_nothing_in_its_file_launches(tmp_path: Path, changes: tuple[str, str], status: int) -> None:
    """By a workload line with its grid."""
    assert changes[0] in LAUNCHED
    changed, baseline = file(tmp_path, LAUNCHED.replace(*changes)), file(tmp_path, LAUNCHED, "baseline.py")
    ended = kernelwright("verify", changed, "--against", baseline)
    assert ended.exit_code == status, ended.output


def test_a_kernel_that_no_case_launches_is_not_verified(tmp_path: Path) -> None:
    other = COPY[COPY.index("@triton.jit") : COPY.index("def copy(")].replace("copy_kernel", "large_kernel")
    branch = (
        "    if x.numel() > 1 << 40:\n        large_kernel[(1,)](x, out, x.numel(), BLOCK=256)\n        return out\n"
    )
    both = COPY.replace("def copy(x)", f"{other}def copy(x)").replace("    copy_kernel[", f"{branch}    copy_kernel[")
    texts = file(tmp_path, both, "copy.py"), "--against", file(tmp_path, both, "baseline.py"), "--kernel"
    ended = kernelwright("verify", *texts, "large_kernel")
    assert ended.exit_code == 1, ended.output
    assert "kernel `large_kernel` was launched in no case" in " ".join(ended.stdout.split())
    ended = kernelwright("verify", *texts, "copy_kernel")
    assert ended.exit_code == 0, ended.output
    assert "1 of 2 kernels launched, 6 of 10 lines ran" in " ".join(ended.stdout.split())
