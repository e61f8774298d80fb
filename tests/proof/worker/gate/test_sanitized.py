"""What compute-sanitizer finds refuses a candidate; without a GPU a program in its place says what it would.

That program runs the calls that it is given, in the emulator, and then writes down a report of the tool's own form.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelwright.proof.jobs import Limits, Trial
from kernelwright.proof.worker.bench import opened
from kernelwright.proof.worker.gate import sanitized
from kernelwright.proof.worker.gate.verdict import verdict_of
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.proof.worker.toolchain import sanitizer
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import Effort, Verdict, VerdictStatus
from proof.worker.trials import workload

NAMES = ("memcheck", "racecheck", "initcheck")
SCALE = """__global__ void scale(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
"""
LINE = "scale<<<(n + 255) / 256, 256>>>(n=4096, a=2.0, x=randn(n), y=out(n))"
WRITES = "  if (i < n) y[i] = a * x[i];"
# Each answers right, and so does what the gate sees of it: the last four floats of a tensor are within 16 bytes.
FAULTY = {
    "memcheck": SCALE.replace(
        WRITES,
        "  if (i >= n) return;\n"
        "  float last = ((const volatile float*)x)[(n + 3) / 4 * 4 - 1];\n"
        "  y[i] = a * x[i] * (last == 1e30f ? 2.0f : 1.0f);",
    ),
    "racecheck": SCALE.replace(
        WRITES,
        "  __shared__ volatile float s[256];\n"
        "  s[threadIdx.x] = i < n ? x[i] : 0.0f;\n"
        "  float other = s[255 - threadIdx.x];\n"
        "  if (i < n) y[i] = a * x[i] * (other == 1e30f ? 2.0f : 1.0f);",
    ),
    "initcheck": SCALE.replace(WRITES, "  if (i < n && y[i] != a * x[i]) y[i] = a * x[i];"),
}
RIGHT = (
    FAULTY["racecheck"].replace("  float other", "  __syncthreads();\n  float other").replace("a * x[i]", "x[i] * a")
)
TRITON = """import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2.0 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def f(x):
    y = torch.empty_like(x)
    scale[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
"""
CLEAN = {
    "memcheck": "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n",
    "racecheck": "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n",
    "initcheck": "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n",
}
SAID = {
    "memcheck": """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at scale+0x70 in kernelwright_text.cu:4
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x74b83400001c is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x74b834000000 of size 28 bytes
========= ERROR SUMMARY: 1 error
""",
    "racecheck": """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at scale+0x90 in kernelwright_text.cu:4
=========     and Read access at scale+0x100 in kernelwright_text.cu:5 [508 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
""",
    "initcheck": """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at scale+0x70 in kernelwright_text.cu:3
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
========= ERROR SUMMARY: 1 error
""",
}
PROGRAM = """#!{python}
import json, os, subprocess, sys, time
from pathlib import Path

target, options = sys.argv[1:], {{}}
while target[0].startswith("--"):
    name = target.pop(0)
    options[name] = target.pop(0)
says = json.loads({says!r})[options["--tool"]]
time.sleep(says.get("sleeps", 0))
status = subprocess.call(target) if says.get("runs", True) else 1
marked = says.get("marker", "").encode() in Path(target[-2]).read_bytes()
log = Path(options["--log-file"])
for other in {{"memcheck", "racecheck", "initcheck"}} - {{options["--tool"]}} if "planted" in says else ():
    for folder in (log.parent, *(log.parents[1] / f"{{text}}-{{other}}" for text in ("candidate", "baseline"))):
        for name in ("request", "answer", "prints", "log"):
            try:
                folder.mkdir(exist_ok=True)
                folder.joinpath(f"{{other}}.{{name}}").symlink_to(says["planted"])
            except OSError:
                pass
if says.get("pipe"):
    os.mkfifo(log)
else:
    log.write_text(says["report"] if marked else says["otherwise"])
log.with_name("environment").write_text(json.dumps(dict(os.environ)))
sys.exit(status)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put the program on the PATH, as if there were a GPU. It says nothing of a text without the marker."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(sanitized, "is_wanted", lambda bench: True)

    def install(**changed: dict[str, object]) -> None:
        says = {name: {"report": CLEAN[name], "otherwise": CLEAN[name], **changed.get(name, {})} for name in NAMES}
        program = tmp_path / "compute-sanitizer"
        program.write_text(PROGRAM.format(python=sys.executable, says=json.dumps(says)), encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return install


def job(candidate: str, baseline: str = SCALE, **limits: object) -> Trial:
    how, triton = Limits(**{"seeds": 2, "threads": 1, **limits}), "triton" in baseline
    path, language, line = ("kernel.py", "python", "f(randn(4096))") if triton else ("kernel.cu", "cuda-cpp", LINE)
    texts = (baseline, baseline, candidate)
    return Trial(f"/nowhere/{path}", *texts, workload(line), measure=False, limits=how, language=language)


def looked(candidate: str, baseline: str = SCALE, **limits: object) -> Verdict:
    """The verdict by these checks alone."""
    with opened(job(candidate, baseline, **limits)) as bench:
        try:
            sanitized.sanitize(bench, lambda stage: None)
        except Rejected as rejected:
            return verdict_of(bench, failed=rejected.check)
        return verdict_of(bench)


def only(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "TOOLS", tuple(one for one in sanitizer.TOOLS if one.name == tool))


def why(verdict: Verdict) -> dict[str, str]:
    return {one.name: one.why for one in verdict.unchecked if one.name in NAMES}


def test_what_no_tool_says_anything_of_has_three_more_checks(installed: Callable[..., None]) -> None:
    installed()
    verdict = run_trial(job(RIGHT), lambda stage: None).verdict
    assert verdict.status is VerdictStatus.PASSED, verdict.reason
    made = {check.name: check for check in verdict.checks if check.name in NAMES}
    assert list(made) == list(NAMES)
    assert why(verdict) == {}
    cases = made["memcheck"].case.split("; ")
    assert [case.partition("(n=")[2].partition(",")[0] for case in cases] == ["4096", "7", "4095"]


def test_a_race_refuses_a_candidate(installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    only("racecheck", monkeypatch)
    installed(racecheck={"report": SAID["racecheck"], "marker": "x[i] * a"})
    verdict = looked(RIGHT)
    assert [check.name for check in verdict.failed_checks] == ["racecheck"]
    assert verdict.reason.startswith("racecheck (scale<<<(n + 255) / 256, 256>>>(n=4096, ")
    assert verdict.reason.endswith("): race between a write in scale at line 4 and a read in scale at line 5")


def test_what_a_text_leaves_for_the_next_tool_is_not_written_through(
    installed: Callable[..., None], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    installed(memcheck={"planted": str(mine)}, racecheck={"planted": str(mine)})
    verdict = looked(RIGHT)
    assert mine.read_text() == "mine"
    assert [check.name for check in verdict.checks if check.name in NAMES] == list(NAMES)


def test_a_log_that_is_a_pipe_is_not_waited_for(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    only("memcheck", monkeypatch)
    installed(memcheck={"pipe": True})
    assert "it does not say what it found" in why(looked(RIGHT))["memcheck"]


def test_a_fault_ends_a_trial(installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    only("memcheck", monkeypatch)
    installed(memcheck={"report": SAID["memcheck"], "marker": "x[i] * a"})
    verdict = run_trial(job(RIGHT), lambda stage: None).verdict
    assert verdict.status is VerdictStatus.FAILED
    assert verdict.reason.endswith(
        "Invalid __global__ read of size 4 bytes in scale at line 4, by thread (0,0,0) of block (0,0,0): "
        "out of bounds, 1 bytes after the nearest allocation of size 28 bytes"
    )


def test_a_fault_that_the_baseline_has_is_told_and_not_held_against_a_candidate(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    only("initcheck", monkeypatch)
    installed(initcheck={"report": SAID["initcheck"]})
    verdict = looked(RIGHT)
    assert verdict.status is VerdictStatus.PASSED
    assert verdict.caveats == ("with faults that initcheck finds in the baseline, too",)
    assert "Uninitialized __global__ memory read of size 4 bytes in scale at line 3" in why(verdict)["initcheck"]


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (
            {"report": "========= COMPUTE-SANITIZER\n========= Error: Device not supported.\n", "runs": False},
            "Device not supported",
        ),
        ({"report": "", "runs": False}, "it does not say what it found"),
        ({"runs": False}, "it does not say what it found"),  # no error, of no call
        ({"sleeps": 60}, "it took more than 3 s"),
    ],
    ids=["refuses the device", "says nothing", "calls nothing", "hangs"],
)
def test_what_cannot_be_looked_at_is_not_told_as_checked(
    says: dict[str, object], words: str, installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    only("memcheck", monkeypatch)
    if "sleeps" in says:
        monkeypatch.setattr(sanitized, "_SECONDS", 3.0)
    installed(memcheck=says)
    verdict = looked(RIGHT)
    assert verdict.status is VerdictStatus.PASSED
    assert not [check for check in verdict.checks if check.name in NAMES]
    assert why(verdict)["memcheck"].startswith(f"compute-sanitizer could not be used: {words}")


def test_a_call_that_raises_is_not_told_as_checked(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    only("memcheck", monkeypatch)
    installed()
    verdict = looked(RIGHT.replace("i < n", "i <= n"))
    assert "KernelFault: thread (7, 0, 0) of block (0, 0, 0) reads x[7] of 7 elements" in why(verdict)["memcheck"]


def test_races_are_not_looked_for_where_a_text_shares_no_memory(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitizer, "_places", lambda: iter(["/nowhere"]))
    assert list(why(looked(SCALE))) == ["memcheck", "initcheck"]


def test_where_there_is_no_such_program_the_verdict_says_how_to_get_it(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitizer, "_places", lambda: iter(["/nowhere"]))
    found = why(looked(RIGHT))
    assert list(found) == list(NAMES)
    assert all("pip install nvidia-cuda-sanitizer-api" in words for words in found.values())


def test_the_process_is_confined_and_gives_each_tensor_memory_of_its_own(
    installed: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only("memcheck", monkeypatch)
    monkeypatch.setenv("SOME_API_TOKEN", "1")
    installed()
    kept, ended = tmp_path / "kept", sanitized.under_sanitizer._ended

    def seen(command: list[str], prints: Path, seconds: float) -> bool:
        over = ended(command, prints, seconds)
        kept.write_bytes((prints.parent / "environment").read_bytes())
        return over

    monkeypatch.setattr(sanitized.under_sanitizer, "_ended", seen)
    assert looked(RIGHT).passed
    environment = json.loads(kept.read_text(encoding="utf-8"))
    assert environment["PYTORCH_NO_CUDA_MEMORY_CACHING"] == "1"
    assert "SOME_API_TOKEN" not in environment
    assert environment["TMPDIR"].endswith("/candidate-memcheck/tmp")


@pytest.mark.parametrize(
    ("effort", "text", "device", "wanted"),
    [
        (Effort.PARANOID, RIGHT, "cuda", True),
        (Effort.STANDARD, RIGHT, "cuda", False),
        (Effort.PARANOID, RIGHT, "cpu", False),
        (Effort.PARANOID, "int main() { return 0; }\n", "cuda", False),
    ],
)
def test_it_is_asked_for_by_effort_where_kernels_run_on_a_gpu(
    effort: Effort, text: str, device: str, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with opened(job(RIGHT, effort=effort)) as bench:
        object.__setattr__(bench, "device", device)
        object.__setattr__(bench.trial, "candidate", text)
        assert sanitized.is_wanted(bench) is wanted


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All that the tools have said."""
    read, said = sanitizer.read, list[str]()

    def noted(tool: sanitizer.Tool, log: str, own: object = ()) -> sanitizer.Report:
        said.append(f"{tool.name}: {log}")
        return read(tool, log, own)

    monkeypatch.setattr(sanitizer, "read", noted)
    return said


@pytest.mark.gpu
@pytest.mark.parametrize("tool", FAULTY)
def test_a_kernel_that_answers_right_by_chance_is_refused(tool: str, logs: list[str]) -> None:
    verdict = looked(FAULTY[tool], effort=Effort.PARANOID)
    said = "\n".join((verdict.reason, str(why(verdict)), *logs))
    assert [check.name for check in verdict.failed_checks] == [tool], said
    assert " in scale at line " in verdict.reason, said


@pytest.mark.gpu
def test_a_kernel_of_triton_is_looked_at_as_well(logs: list[str]) -> None:
    beyond = TRITON.replace("mask=i < n)", "mask=i < (n + 3) // 4 * 4)", 1)
    verdict = looked(beyond, TRITON, effort=Effort.PARANOID)
    said = "\n".join((verdict.reason, str(why(verdict)), *logs))
    assert [check.name for check in verdict.failed_checks] == ["memcheck"], said
    assert " in scale at line 9," in verdict.reason, said


@pytest.mark.gpu
def test_a_fault_that_the_baseline_has_too_is_told(logs: list[str]) -> None:
    verdict = looked(FAULTY["memcheck"] + "\n// The same.\n", FAULTY["memcheck"], effort=Effort.PARANOID)
    said = "\n".join((verdict.reason, str(why(verdict)), *logs))
    assert verdict.passed, said
    assert "with faults that memcheck finds in the baseline, too" in verdict.caveats, said
    assert "memcheck" in why(verdict), said


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("text", "ended_by"), [(RIGHT, None), (FAULTY["memcheck"], "memcheck")], ids=["right", "faulty"]
)
def test_a_whole_trial_at_effort_paranoid(text: str, ended_by: str | None, logs: list[str]) -> None:
    verdict = run_trial(job(text, effort=Effort.PARANOID), lambda stage: None).verdict
    said = "\n".join((verdict.reason, str(why(verdict)), *logs))
    assert next((check.name for check in verdict.failed_checks), None) == ended_by, said
    assert ended_by or {check.name for check in verdict.checks} >= set(NAMES), said
