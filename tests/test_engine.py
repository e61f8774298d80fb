"""One step, driven through real workers on the CPU: kept with evidence, rejected with a reason, taken back."""

import asyncio
import dataclasses
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from kept import Lent
from kernelwright.attempting import Attempts
from kernelwright.coders import deterministic
from kernelwright.engine import Engine, Request, Reversal
from kernelwright.journal import open_in_memory
from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.macro.strategy import Observation
from kernelwright.observer import silent
from kernelwright.proof.jobs import TrialResult
from kernelwright.settings import Settings
from kernelwright.steps import decide, failed_step, under_roof
from kernelwright.values import (
    Accuracy,
    Action,
    Check,
    Edits,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    Refusal,
    Region,
    Step,
    TextEdit,
    Timing,
    Verdict,
    VerdictStatus,
    apply,
    digest,
)

DOUBLED = """\
__global__ void doubled(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

// workload: run(x=randn(n), y=out(n), n=1000)
extern "C" void run(const float* x, float* y, int n) {
    doubled<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""

LINEAR_SUM = """\
import torch
from torch import nn


class Score(nn.Module):
    def __init__(self, features: int, width: int):
        super().__init__()
        self.linear = nn.Linear(features, width)

    def forward(self, x):
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)


# workload: Score(512, 640)(randn(384, 512))
"""

SETTINGS = Settings(timing_budget=0.2)


def verdict(*, passed: bool = True) -> Verdict:
    status = VerdictStatus.PASSED if passed else VerdictStatus.FAILED
    return Verdict(status, "new", "old", (Check("values", "seed 0", passed, "max |err| 3.1"),))


def measurement(speedup: float, low: float, high: float) -> Measurement:
    timing = Timing(1.0, 0.9, 1.1, 100)
    return Measurement("new", "old", "CPU", timing, timing, timing, speedup, low, high, speedup, low, high, {}, 2.0)


@pytest.mark.parametrize(
    ("result", "outcome", "words"),
    [
        (TrialResult(verdict(), measurement(1.5, 1.4, 1.6)), Outcome.KEPT, "1.50x"),
        (TrialResult(verdict(), measurement(1.5, 0.9, 2.0)), Outcome.REJECTED, "No gain"),
        (TrialResult(verdict(), measurement(1.01, 1.005, 1.015)), Outcome.REJECTED, "No gain"),
        (TrialResult(verdict(passed=False), None), Outcome.REJECTED, "values failed"),
        (TrialResult(verdict(passed=False), measurement(9.0, 8.0, 9.5)), Outcome.REJECTED, "values failed"),
        (TrialResult(verdict(), None, "Speed not measured: no GPU here."), Outcome.KEPT, "no GPU here"),
        (TrialResult(verdict(), None, "Speed not measured: small.", unconfirmed=True), Outcome.REJECTED, "small"),
    ],
)
def test_only_a_verified_gain_is_kept(result: TrialResult, outcome: Outcome, words: str) -> None:
    decided, reason = decide(result, min_gain=0.02)
    assert decided is outcome
    assert words in reason


def test_a_step_of_reduced_accuracy_says_so_and_is_kept_only_where_it_passed() -> None:
    lesser = dataclasses.replace(verdict(), accuracy=Accuracy.REDUCED)
    outcome, reason = decide(TrialResult(lesser, measurement(1.5, 1.4, 1.6)), 0.02)
    assert (outcome, reason) == (Outcome.KEPT, "1.50x faster than before, with reduced accuracy")
    assert not Settings().accept_reduced_accuracy
    for accept in (False, True):
        engine = Engine(
            Path("/nowhere"), Settings(accept_reduced_accuracy=accept), journal=open_in_memory(Path("/nowhere"))
        )
        assert engine.limits.accept_reduced is accept


def test_a_strategy_that_needs_a_number_is_not_kept_without_one() -> None:
    assert decide(TrialResult(verdict(), None, "No GPU here."), 0.02, needs_number=True)[0] is Outcome.REJECTED


class Bench:
    """One engine for all tests of this file; each works on a path of its own."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.loop = asyncio.new_event_loop()
        self.engine = Engine(workspace, SETTINGS, Lent())

    def path(self, name: str) -> str:
        return str(self.workspace / name)

    def run(self, body: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(body)

    def close(self) -> None:
        self.loop.run_until_complete(self.engine.close())
        self.loop.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("workspace"))
    yield bench
    bench.close()


def test_a_step_is_kept_journalled_and_taken_back(bench: Bench) -> None:
    path = bench.path("score.py")

    async def body() -> None:
        engine = bench.engine
        stages: list[str] = []
        step = await engine.optimize(Request(path, LINEAR_SUM, "Score"), stages.append)
        assert isinstance(step, Step), step
        assert step.outcome is Outcome.KEPT, step.reason
        assert step.action.strategy == "torch.reassociate.reduce-features"
        assert step.verdict is not None
        assert step.verdict.passed
        assert step.lines == ()
        assert step.measurement is not None
        assert step.measurement.speedup_low > 1.0
        assert step.measurement.roof is not None
        assert step.measurement.roof.flops >= 2 * 384 * 512 * 640, "those of the file as it was"
        assert step.measurement.roof.bytes == 4 * (384 * 512 + 640 * 512 + 640 + 384)
        assert step.measurement.roof.least_ms is None, "the ceilings of a CPU are not known"
        assert "Verifying" in " ".join(stages)
        assert isinstance(step.edits, Edits)
        after = apply(step.edits, LINEAR_SUM)
        assert digest(after) == step.after_hash
        assert engine.baseline(path, after, "Score") == LINEAR_SUM
        assert [s.id for s in engine.history(path)] == [step.id]

        edited = after + "\n# a remark that I made meanwhile\n"
        back = engine.revert(path, edited, step.id)
        assert isinstance(back, Reversal), back
        assert apply(back.edits, edited) == LINEAR_SUM + "\n# a remark that I made meanwhile\n"
        assert engine.history(path)[0].outcome is Outcome.KEPT, "nothing has been taken back yet"
        engine.mark_reverted(path, back.step_ids)
        assert engine.history(path)[0].outcome is Outcome.REVERTED
        assert engine.baseline(path, edited, "Score") == edited, "with no step left the file is its own baseline"

    bench.run(body())


def test_all_texts_of_a_kernel_are_told_by_the_work_of_its_baseline(bench: Bench) -> None:
    path = bench.path("twice.py")

    async def body() -> None:
        first = await bench.engine.optimize(Request(path, LINEAR_SUM, "Score"))
        assert isinstance(first, Step), first
        assert isinstance(first.edits, Edits)
        text = apply(first.edits, LINEAR_SUM)
        later = Engine(bench.workspace, bench.engine.settings, bench.engine.workers, bench.engine.journal)
        observation = await later.observe_fully(path, text, "Score")
        assert isinstance(observation, Observation), observation
        of_baseline = await later._attempts._of_baseline(observation, LINEAR_SUM, silent, None)
        assert of_baseline is not None
        assert of_baseline.graph is not None, "captured by an engine that has not seen it before"
        assert first.measurement is not None
        assert under_roof(first.measurement, of_baseline, observation.device) == first.measurement
        assert under_roof(first.measurement, observation, observation.device) != first.measurement

    bench.run(body())


def test_autopilot_ends_with_a_reason_and_its_steps_name_the_lines_of_the_journal(bench: Bench) -> None:
    without, path = LINEAR_SUM.split("\n\n# workload")[0], bench.path("autopilot.py")
    lines = (("Score", ("Score(512, 640)(randn(384, 512))",)),)

    async def body() -> None:
        engine = bench.engine
        engine.journal.keep_lines(path, (*lines, ("other", ("other(randn(3))",))))
        items = [item async for item in engine.autopilot(Request(path, without, "Score"))]
        assert isinstance(items[0], Step)
        assert items[0].lines == lines
        assert engine.history(path)[0].lines == lines
        assert isinstance(items[-1], Refusal)
        assert items[-1].reason

    bench.run(body())


def test_the_autopilot_says_why_its_steps_came_to_no_measurement(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        observed = await bench.engine.observe_fully(bench.path("broken.py"), LINEAR_SUM, "Score")
        assert isinstance(observed, Observation)
        action = Action("torch.fuse-product", Region(0, 1, digest(LINEAR_SUM)))
        broken = Failure(FailureKind.IMPORT_FAILED, "Importing the file failed: no module.")
        failed = failed_step(observed, action, broken)

        async def optimize(*_: object) -> Step:
            return failed

        monkeypatch.setattr(Engine, "optimize", optimize)
        *steps, last = [
            item async for item in bench.engine.autopilot(Request(bench.path("broken.py"), LINEAR_SUM, "Score"))
        ]
        assert steps == [failed, failed]
        assert last.reason == (
            "Stopped: two steps in a row came to no measurement. The last one: Importing the file failed: no module."
        )

    bench.run(body())


def test_a_strategy_asked_for_by_name_is_not_repeated_on_the_same_text(bench: Bench) -> None:
    async def body() -> None:
        demanding = dataclasses.replace(SETTINGS, min_gain=1e6)
        engine = Engine(bench.workspace, demanding, bench.engine.workers, bench.engine.journal)
        request = Request(bench.path("named.py"), LINEAR_SUM, "Score", strategy="torch.reassociate")
        first, second = [item async for item in engine.autopilot(request)]
        assert isinstance(first, Step)
        assert first.outcome is Outcome.REJECTED
        assert isinstance(second, Refusal)
        assert second.reason.startswith("Already tried on this text and rejected: No gain")
        assert isinstance(await engine.optimize(request), Step), "a person may ask again"

    bench.run(body())


@pytest.mark.parametrize(
    ("text", "kernel", "words"),
    [
        ("", "Score", "no kernel"),
        (LINEAR_SUM, "Other", "it has Score"),
        (LINEAR_SUM.split("# workload")[0], "Score", "workload"),
    ],
)
def test_bad_input_is_refused_in_words(bench: Bench, text: str, kernel: str, words: str) -> None:
    async def body() -> None:
        engine = bench.engine
        answer = await engine.optimize(Request(bench.path("refused.py"), text, kernel))
        assert isinstance(answer, Refusal)
        assert words in answer.reason

    bench.run(body())


def test_an_unknown_strategy_is_refused_with_the_known_ones(bench: Bench) -> None:
    async def body() -> None:
        engine = bench.engine
        answer = await engine.optimize(Request(bench.path("unknown.py"), LINEAR_SUM, "Score", strategy="torch.magic"))
        assert isinstance(answer, Refusal)
        assert "torch.reassociate" in answer.reason

    bench.run(body())


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("import not_a_package_of_anybody", FailureKind.MISSING_PACKAGE),
        ("raise RuntimeError('broken')", FailureKind.IMPORT_FAILED),
    ],
)
def test_a_file_that_does_not_import_is_a_typed_failure(bench: Bench, line: str, kind: FailureKind) -> None:
    async def body() -> None:
        engine = bench.engine
        answer = await engine.optimize(Request(bench.path("broken.py"), f"{line}\n{LINEAR_SUM}", "Score"))
        assert isinstance(answer, Failure)
        assert answer.kind is kind

    bench.run(body())


def test_a_cancelled_step_leaves_no_trace(bench: Bench) -> None:
    async def body() -> None:
        engine = bench.engine
        cancel = asyncio.Event()
        path = bench.path("cancelled.py")
        answer = await engine.optimize(Request(path, LINEAR_SUM, "Score"), lambda stage: cancel.set(), cancel)
        failure = answer.failure if isinstance(answer, Step) else answer
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.CANCELLED
        assert engine.history(path) == ()

    bench.run(body())


def test_a_rewrite_with_a_counterexample_is_refused_ahead_of_the_gate(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = DOUBLED.index("i < n")
    wrong = Edits(digest(DOUBLED), (TextEdit(at, at + len("i < n"), "i <= n"),), "a wrong one")
    monkeypatch.setattr(deterministic, "carried_out", lambda *_: (wrong,))
    monkeypatch.setattr(Attempts, "run_trial", None)  # what would be called next

    async def body() -> None:
        path = bench.path("doubled.cu")
        step = await bench.engine.optimize(
            Request(path, DOUBLED, "doubled", strategy="cuda.restrict-const", support=CUDA)
        )
        assert isinstance(step, Step), step
        assert step.outcome is Outcome.REJECTED
        assert step.failure is not None
        assert step.failure.kind is FailureKind.EDIT_REFUSED
        assert step.verdict is None
        assert "block 3, thread 232 writes y[1000] of 1000 elements" in step.reason

    bench.run(body())
