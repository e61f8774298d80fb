"""`verify` against a file of another folder: each text imports from its own folder, and the judge from the baseline's."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.terminal import kernelwright

BASELINE = """import torch
from helper import scaled

def f(x):
    return torch.add(scaled(x), 0.0)

# workload: f(torch.randn(64, 48))
"""
DOUBLED = "def scaled(x):\n    return x * 2.0\n"
ZEROS = "import torch\n\ndef f(x):\n    return torch.mul(x, 0.0)\n\n# workload: f(torch.randn(64, 48))\n"
# Leaves a mark where it runs in another process than a candidate's, whose temporary files go to a folder of its own.
PLANTED = """import os, sys
if "kernelwright-host-" not in os.environ.get("TMPDIR", ""):
    open({mark!r}, "w").write(f"ran in {{sys.argv}}")
"""


def verified(tmp_path: Path, candidate: str, planted: Mapping[str, str], baseline: str = BASELINE) -> tuple[int, str]:
    """The exit code and the output of `verify theirs/kernel.py --against mine/base.py`, a helper beside mine."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for folder, files in ((mine, {"base.py": baseline, "helper.py": DOUBLED}), (theirs, planted)):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    theirs.mkdir(exist_ok=True)
    (theirs / "kernel.py").write_text(candidate)
    files = theirs / "kernel.py", "--against", mine / "base.py", "--json", tmp_path / "out.json"
    ended = kernelwright("verify", *files, own_workers=True)  # from here, and with this environment
    return ended.exit_code, ended.output


def test_a_helper_beside_the_baseline_is_found_and_one_beside_the_candidate_is_the_candidates(tmp_path: Path) -> None:
    code, output = verified(tmp_path, BASELINE, {"helper.py": "def scaled(x):\n    return x + x\n"})
    assert code == 0, output
    code, output = verified(tmp_path, BASELINE, {"helper.py": "def scaled(x):\n    return x * 2.01\n"})
    assert (code, "Check values failed" in output) == (1, True), output


@pytest.mark.parametrize(
    "place", ["helper.py", "helper/__init__.py", "torch.py", "random.py", "colorsys.py", "sitecustomize.py"]
)
def test_what_is_planted_beside_the_candidate_never_runs_in_the_judge(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ran"
    planted = PLANTED.format(mark=str(mark)) + "def scaled(x):\n    return x * 0.0\n"
    monkeypatch.setenv("PYTHONPATH", ":" + str(Path(__file__).parents[2] / "server"))  # ":" is the current folder
    baseline = f"import random, colorsys\n{BASELINE}"
    (tmp_path / "theirs").mkdir()
    monkeypatch.chdir(tmp_path / "theirs")
    code, output = verified(tmp_path, ZEROS, {place: planted}, baseline)
    assert code == 1, output
    assert not mark.exists(), mark.read_text()
    verdict = json.loads((tmp_path / "out.json").read_text())["result"]["verdict"]
    assert verdict["status"] == "failed"
