"""The levels of effort: what each looks at, and that none but a whole gate stands behind a speedup."""

import dataclasses
import re

import pytest

from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Limits, Trial, TrialResult
from kernelwright.proof.worker.gate import gate
from kernelwright.proof.worker.gate.effort import SCOPES, Scope, variations
from kernelwright.proof.worker.gate.line_sizes import beyond_32_bits
from kernelwright.proof.worker.trial import run_trial
from kernelwright.source.workload import evaluate
from kernelwright.values import Case, Effort, Failure, VerdictStatus, Workload, WorkloadSource
from proof.worker.trials import QUICK as SHORT

LINE = "f(randn(64, 48))"
FUNCTION = "import torch\n\n\ndef f(x):\n    return torch.softmax(x, dim=1)\n"


def workload(line: str = LINE) -> Workload:
    return Workload(WorkloadSource.LINES, "f", (Case(0, 0, line),))


def described(effort: Effort) -> list[str]:
    return [v.described for v in variations(workload(), Limits(seeds=2, effort=effort), None)]


def trial_at(effort: Effort, candidate: str = FUNCTION):
    limits = dataclasses.replace(SHORT, effort=effort)
    return run_trial(
        Trial("/nowhere/k.py", FUNCTION, FUNCTION, candidate, workload(), limits=limits), lambda stage: None
    )


def test_each_level_looks_at_more() -> None:
    quick, standard, paranoid = (described(effort) for effort in Effort)
    assert set(quick) < set(standard)
    assert len(quick) < len(standard) / 2
    assert len(paranoid) > 1.5 * len(standard)
    assert {"f(randn(64, 48)), seed 0", "f(randn(64, 48)), seed 3, NaN planted"} <= set(quick)
    assert {"f(randn(64, 49)), seed 2", "f(randn(65, 48)), seed 2"} <= set(paranoid)


def test_without_lines_too() -> None:
    by_functions = Workload(WorkloadSource.KERNELBENCH, "Model")
    quick, standard = (variations(by_functions, Limits(effort=e), None) for e in (Effort.QUICK, Effort.STANDARD))
    assert [v.rows for v in quick if v.poisoned] == [None, 1, 7]
    assert len(quick) < len(standard) / 2


def test_quick_times_nothing() -> None:
    result = trial_at(Effort.QUICK)
    assert result.verdict.passed
    assert result.verdict.effort is Effort.QUICK
    assert result.measurement is None
    assert "effort quick" in result.unmeasured


def test_paranoid_calls_again_and_again() -> None:
    odd = FUNCTION.replace("import torch\n", "import torch\n\ncalls = []\n").replace(
        "return torch.softmax(x, dim=1)",
        "calls.append(1)\n    return torch.softmax(x, dim=1) + (1e-7 if len(calls) // 28 % 2 else 0.0)",
    )
    limits = Limits(threads=1, seeds=2, effort=Effort.PARANOID)
    job = Trial("/nowhere/k.py", FUNCTION, FUNCTION, odd, workload("f(randn(8, 8))"), measure=False, limits=limits)
    verdict = run_trial(job, lambda stage: None).verdict
    (determinism,) = [c for c in verdict.checks if c.name == "determinism"]
    assert "differ" in determinism.detail
    assert any(c.name == "gradient" and "input 0" not in c.detail for c in verdict.checks)
    assert "no case above 2^31 elements (on a GPU only)" in verdict.how


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("f(randn(1 << 20))", "f(randn(2147483665))"),
        ("f(x=randint(0, 50, 1000003, dtype=int8))", "f(x=randint(0, 50, 2147483665, dtype=int8))"),
        ("f(randn(8192, 1024), randn(8192, 1024))", "f(randn(2097169, 1024), randn(2097169, 1024))"),
        ("f(randn(4096, 4096), randn(4096, 4096))", "f(randn(524305, 4096), randn(4096, 4096))"),
        ("f(n=1<<24, x=randn(n))", "f(n=2147483665, x=randn(n))"),
        ("f(randn(3, 5))", None),
    ],
)
def test_a_line_beyond_32_bits(line: str, expected: str | None) -> None:
    found = beyond_32_bits(line)
    assert (found and found[0]) == expected
    if found is not None:
        assert evaluate(found[0]) == found[1]
        assert found[2] > 1 << 31


ADD = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 3, mask=i < n)


def f(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""


@pytest.mark.gpu
async def test_offsets_of_32_bits_are_refused_on_a_line_of_a_million_elements() -> None:
    narrow = ADD.replace(".to(tl.int64)", "")
    lines = workload("f(randint(0, 40, 1 << 20, dtype=int8))")
    limits = Limits(seeds=2, effort=Effort.PARANOID)
    workers = Workers()  # which leave no memory behind, unlike this process

    async def ended(candidate: str) -> str:
        job = Trial("/nowhere/k.py", ADD, ADD, candidate, lines, measure=False, limits=limits)
        answer = await workers.run(job, timeout=120)
        if isinstance(answer, Failure):
            return str(answer.kind)
        assert isinstance(answer, TrialResult)
        verdict = answer.verdict
        assert "no case above 2^31 elements" not in verdict.how
        return verdict.failed_checks[0].name if verdict.failed_checks else str(verdict.status)

    try:
        assert await ended(ADD.replace("* 3", "* 2 + 0")) == "values"
        assert await ended(ADD.replace("BLOCK=1024", "BLOCK=512").replace("numel(), 1024", "numel(), 512")) == "passed"
        assert await ended(narrow) in ("crashed", "values", "runs")
    finally:
        await workers.close()


SLOW = """
import time

import torch

calls = []


def f(x):
    calls.append(0)
    if len(calls) <= {calls}:
        time.sleep({seconds})
    return torch.softmax(x, dim=1 if x.shape == (64, 48) else {axis})
"""


def test_a_slow_candidate_is_looked_at_as_long_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCOPES, Effort.QUICK, Scope(budget=1.5))
    verdict = trial_at(Effort.QUICK, SLOW.format(calls=1, seconds=2.0, axis=1)).verdict
    assert verdict.passed
    assert "left out" not in verdict.how
    assert not trial_at(Effort.QUICK, SLOW.format(calls=1, seconds=2.0, axis=0)).verdict.passed


def test_what_is_left_out_for_time_is_told_first_and_one_of_each_kind_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCOPES, Effort.STANDARD, Scope(budget=1e-6))
    monkeypatch.setattr(gate, "_LONGEST", 1e9)
    job = Trial("/nowhere/k.py", FUNCTION, FUNCTION, FUNCTION, workload(), measure=False, limits=SHORT)
    verdict = run_trial(job, lambda stage: None).verdict
    assert verdict.passed
    (caveat,) = verdict.caveats
    assert re.fullmatch(r"\d+ of \d+ cases left out for time", caveat)
    cases = [check.case for check in verdict.checks if check.name == "values"]
    assert {"f(randn(64, 48)), seed 0", "f(randn(64, 48)), seed 1", "f(randn(64, 48)), seed 3, inputs x 3"} <= set(
        cases
    )
    assert len(cases) == 5  # and another size, and special data


def test_whose_processes_take_the_time_of_the_cases_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCOPES, Effort.STANDARD, Scope(budget=1e-6))
    monkeypatch.setattr(gate, "_LONGEST", 1e9)
    spinning = (
        FUNCTION
        + """
import os
import time

for _ in range(12):
    if os.fork() == 0:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pass
        os._exit(0)
"""
    )
    job = Trial("/nowhere/k.py", FUNCTION, FUNCTION, spinning, workload(), measure=False, limits=SHORT)
    verdict = run_trial(job, lambda stage: None).verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "processes of the candidate kept the processors busy" in verdict.reason


@pytest.mark.parametrize("effort", [Effort.QUICK, Effort.STANDARD])
def test_without_some_kind_of_evidence_nothing_is_verified(effort: Effort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCOPES, effort, Scope(budget=0.1))
    slow = SLOW.format(calls=9, seconds=0.1, axis=1)
    limits = dataclasses.replace(SHORT, effort=effort)
    job = Trial("/nowhere/k.py", slow, FUNCTION, FUNCTION, workload(), measure=False, limits=limits)
    verdict = run_trial(job, lambda stage: None).verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "cases left out for time, and none was made of" in verdict.reason
    assert "use a smaller workload" in verdict.reason
