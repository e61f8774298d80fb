"""`optimize` on the CPU with real workers: kept, written, told as JSON, listed and taken back."""

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from cli.terminal import SCORE, SMALL, file, kernelwright

CRLF = SCORE.replace("\n", "\r\n").encode()


def test_a_step_is_written_listed_and_taken_back(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real = file(tmp_path / "elsewhere", CRLF)
    real.chmod(0o640)
    link = tmp_path / "link.py"
    link.symlink_to(real)
    out = tmp_path / "result.json"

    ended = kernelwright("optimize", link, "--write", "--diff", "--steps", "2", "--json", out)
    assert ended.exit_code == 0, ended.output
    assert "kept" in ended.stdout
    assert re.search(r"\nNothing .*2 % or more\..*\n +Fuse pointwise operations: \w", ended.stdout, re.DOTALL)
    assert "-        return torch.sum(y, dim=1, keepdim=True)" in ended.stdout
    assert "Wrote" in ended.stdout
    written = real.read_bytes()
    assert written != CRLF
    assert written.count(b"\n") == written.count(b"\r\n")
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in real.parent.iterdir() if p.name != ".kernelwright"] == ["score.py"]

    result = json.loads(out.read_text())
    assert result["schema"] == 1
    assert result["kernel"] == "Score"
    assert result["device"]["kind"] == "cpu"
    (step,) = result["steps"]
    assert step["outcome"] == "kept"
    assert step["action"]["strategy"] == "torch.reassociate.reduce-features"
    assert step["verdict"]["status"] == "passed"
    assert result["speedup"]["ratio"] == step["measurement"]["speedup"]
    assert 1.0 < result["speedup"]["low"] <= result["speedup"]["ratio"] <= result["speedup"]["high"]

    listed = kernelwright("history", real)
    assert listed.exit_code == 0
    assert step["id"] in listed.stdout
    assert "No steps yet on Other" in kernelwright("history", real, "--kernel", "Other").stdout

    script = tmp_path / "reproduce.py"
    assert kernelwright("export", link, "--out", script).exit_code == 0
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("agrees with the baseline") == 3
    assert kernelwright("export", real, step["id"]).stdout == script.read_text(encoding="utf-8")
    again = kernelwright("export", real, "--out", script)
    assert again.exit_code == 2
    assert "exists already; choose another --out" in again.stderr

    unknown = kernelwright("revert", real, "no-such-step")
    assert unknown.exit_code == 2
    assert "has no step no-such-step" in unknown.stderr
    reverted = kernelwright("revert", link)
    assert reverted.exit_code == 0, reverted.output
    assert real.read_bytes() == CRLF
    assert "reverted" in kernelwright("history", real).stdout
    again = kernelwright("revert", real)
    assert again.exit_code == 2
    assert "nothing to take back" in again.stderr
    gone = kernelwright("export", real)
    assert gone.exit_code == 2
    assert "has no kept step of score.py, so there is nothing to export" in gone.stderr


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = file(tmp_path, SCORE)
    edited = SCORE + "\n# written by somebody else meanwhile\n"

    def edit_once_the_run_has_begun() -> None:
        while not (tmp_path / ".kernelwright").exists():  # the journal is opened after the file was read
            time.sleep(0.01)
        path.write_text(edited)

    other = threading.Thread(target=edit_once_the_run_has_begun, daemon=True)
    other.start()
    ended = kernelwright("optimize", path, "--write")
    other.join(timeout=10)
    assert ended.exit_code == 2
    assert "score.py changed while it was being optimised; nothing was written." in ended.stderr
    assert path.read_text() == edited
    assert "reverted" in kernelwright("history", path).stdout
    assert "nothing to take back" in kernelwright("revert", path).stderr


def test_without_a_gpu_a_fusion_is_verified_when_it_is_asked_for_by_name(tmp_path: Path) -> None:
    rms_norm = (Path(__file__).parents[2] / "examples" / "rms_norm.py").read_text()
    rms_norm = rms_norm.split("# workload")[0] + "# workload: RMSNorm(16)(randn(8, 16))\n"
    path = file(tmp_path, rms_norm, "rms_norm.py")
    out = tmp_path / "result.json"
    ended = kernelwright("optimize", path, "--strategy", "torch.fuse-row-reduction", "--steps", "3", "--json", out)
    assert ended.exit_code == 0, ended.output
    result = json.loads(out.read_text())
    if result["device"]["kind"] == "cpu":
        assert "in Triton's interpreter" in ended.stdout
        assert "speed not measured: no GPU here" in ended.stdout
        assert result["speedup"] is None
    assert [step["outcome"] for step in result["steps"]] == ["kept"]
    assert result["ending"]
    assert "+    return fused_rms_norm(" in ended.stdout or "+        return fused_rms_norm(" in ended.stdout
    assert path.read_text() == rms_norm
    assert not (tmp_path / ".kernelwright").exists()


def test_a_strategy_that_is_left_out_is_not_tried(tmp_path: Path) -> None:
    path = file(tmp_path, SMALL)
    out = tmp_path / "result.json"
    ended = kernelwright("optimize", path, "--without", "torch.reassociate", "--json", out)
    assert ended.exit_code == 0, ended.output
    assert json.loads(out.read_text())["steps"] == []


def test_nothing_that_helps_is_no_error(tmp_path: Path) -> None:
    small = SMALL.replace("        return torch.sum(y, dim=1, keepdim=True)\n", "        return y\n")
    path = file(tmp_path, small)
    ended = kernelwright("optimize", path)
    assert ended.exit_code == 0, ended.output
    assert "Nothing" in ended.stdout
    said = " ".join(ended.stdout.split())
    assert "is expected to gain 2 % or more." in said
    assert "Fuse pointwise operations: " in said, "the reason of each strategy follows"


def test_without_a_gpu_no_step_of_a_triton_kernel_is_kept_unasked(tmp_path: Path) -> None:
    """Nothing can be measured; by its name a strategy is verified."""
    softmax = (Path(__file__).parents[2] / "examples" / "triton_softmax.py").read_text()
    lines = re.compile(r"(^# workload: .*\n)+", re.MULTILINE)
    path = file(tmp_path, lines.sub("# workload: softmax(randn(2, 40))\n", softmax), "softmax.py")
    out = tmp_path / "result.json"
    ended = kernelwright("optimize", path, "--json", out)
    assert ended.exit_code == 0, ended.output
    result = json.loads(out.read_text())
    if result["device"]["kind"] == "cpu":
        assert result["steps"] == []
        assert "--strategy triton.online-reduction" in result["ending"]
