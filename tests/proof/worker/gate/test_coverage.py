"""What of a candidate ran: kernels that no case launches, changed lines that none runs, loops that turn once."""

import ast
from collections.abc import Mapping

import pytest
import torch
from triton.runtime.jit import JITFunction

from interpreted import judged
from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker import ran
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.python.coverage import Text, coverage, missing
from kernelwright.proof.worker.languages.python.modules import load_module
from kernelwright.proof.worker.languages.python.turning import Kernel
from kernelwright.values import Verdict, VerdictStatus
from proof.worker.trials import QUICK, trial, workload

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
TWO = f"""{HEAD}
@triton.jit
def scaled(v, factor):
    return v * factor
@triton.jit
def small(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
@triton.jit
def large(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, scaled(tl.load(x + at, mask=at < n), 2), mask=at < n)
def double(x):
    y = torch.empty_like(x)
    n = x.numel()
    if n > 20000:
        large[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    else:
        small[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)
    return y
"""
NEVER = TWO.replace("n > 20000", "n > 2**40")
BROKEN = ("BLOCK)\n    tl.store(y + at, scaled(", "BLOCK)\n    tl.store(y + at, scaled(1 + ")
DOUBLE = "double(randn(300))"
TOTAL = f"""{HEAD}
@triton.jit
def total(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = -float("inf")
    acc = 0.0
    for k in range(0, n, BLOCK):
        at = k + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
        new = tl.maximum(best, tl.max(v, 0))
        acc = acc * tl.exp(best - new) + tl.sum(tl.exp(v - new), 0)
        best = new
    tl.store(y + row, best + tl.log(acc))
def lse(x):
    y = torch.empty(x.shape[0])
    total[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
    return y
"""
LSE, MERGE, SAME = "lse(randn(4, 300))", "acc * tl.exp(best - new)", "tl.exp(best - new) * acc"
WIDE = TOTAL.replace("BLOCK=1024", "BLOCK=65536")
LONG = TOTAL.replace("BLOCK=1024", "BLOCK=1 << 19")
ONE_BLOCK = TOTAL.replace("BLOCK=1024", "BLOCK=triton.next_power_of_2(x.shape[1])")
TRIALS = {
    "large is broken": (TWO, TWO.replace(*BROKEN), DOUBLE, ""),
    "the helper of large is broken": (TWO, TWO.replace("v * factor", "v + factor"), DOUBLE, ""),
    "large is named and the same": (TWO, TWO, DOUBLE, "large"),
    "large is out of reach and named": (NEVER, NEVER, DOUBLE, "large"),
    "large is out of reach and broken": (NEVER, NEVER.replace(*BROKEN), DOUBLE, ""),
    "large is out of reach and the same": (NEVER, NEVER.replace("* 2,", "* 2.0,"), DOUBLE, "small"),
    "the merge is wrong": (TOTAL, TOTAL.replace(MERGE, "acc"), LSE, ""),
    "the merge is right": (TOTAL, TOTAL.replace(MERGE, SAME), LSE, ""),
    "the merge of wide blocks is wrong": (WIDE, WIDE.replace(MERGE, "acc"), LSE, ""),
    "the merge of wide blocks is right": (WIDE, WIDE.replace(MERGE, SAME), LSE, ""),
    "the loop turns once in all sizes that are tried": (LONG, LONG.replace(MERGE, SAME), LSE, ""),
    "the loop turns once, whatever the size": (ONE_BLOCK, ONE_BLOCK.replace(MERGE, SAME), LSE, ""),
}
FLAGS = """import torch
def f(x, flag=False, act="relu", bias=None):
    y = x + 1
    if flag: y = y * 2
    if act == "gelu":
        y = y + 3
    if bias is not None:
        y = y + bias
    if x.dim() > 40:
        y = y + 5
    return y
"""
CALL = "f(randn(30, 40))"


@pytest.fixture(scope="module")
def verdicts() -> Mapping[str, Verdict]:
    jobs = [
        Trial("/nowhere/k.py", base, base, text, workload(case), measure=False, limits=QUICK, kernel=kernel)
        for base, text, case, kernel in TRIALS.values()
    ]
    return dict(zip(TRIALS, (result.verdict for result in judged(jobs)), strict=True))


def lacking(verdict: Verdict) -> set[str]:
    return {one.name for one in verdict.unchecked}


@pytest.mark.parametrize("name", [name for name in TRIALS if name.endswith(("is broken", "is wrong"))])
def test_a_case_is_found_that_shows_it(name: str, verdicts: Mapping[str, Verdict]) -> None:
    assert [check.name for check in verdicts[name].failed_checks] == ["values"], verdicts[name].reason


@pytest.mark.parametrize("name", [name for name in TRIALS if "out of reach and" in name and "same" not in name])
def test_a_kernel_out_of_reach_is_not_verified(name: str, verdicts: Mapping[str, Verdict]) -> None:
    assert verdicts[name].status is VerdictStatus.NOT_CHECKABLE
    assert "kernel `large` was launched in no case" in verdicts[name].reason
    assert verdicts[name].coverage.unlaunched == ("large",)


def test_a_kernel_out_of_reach_that_was_there_before_needs_nothing(verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts["large is out of reach and the same"]
    assert verdict.passed, verdict.reason
    assert verdict.coverage.described == "1 of 2 kernels launched, 7 of 11 lines ran"
    assert not lacking(verdict) & {"coverage", "loop-turns"}


def test_what_was_named_is_launched_and_told(verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts["large is named and the same"]
    assert verdict.passed, verdict.reason
    assert verdict.coverage.described == "2 of 2 kernels launched, all 11 lines ran"


@pytest.mark.parametrize("name", [name for name in TRIALS if name.endswith("is right")])
def test_a_loop_is_made_to_turn_twice(name: str, verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts[name]
    assert verdict.passed, verdict.reason
    assert verdict.coverage.described == "1 of 1 kernel launched, all 13 lines ran, loops turned 3 times"
    assert "loop-turns" not in lacking(verdict)


def test_a_loop_that_can_turn_twice_and_does_not_is_not_verified(verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts["the loop turns once in all sizes that are tried"]
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "the loop in line 10 (`for k in range(0, n, BLOCK):`) turned twice in no case" in verdict.reason


@pytest.mark.parametrize(
    ("loop", "launch", "can"),
    [
        ("range(0, n, BLOCK)", "k[(1,)](x, n, BLOCK=1024)", True),
        ("range(n)", "k[(1,)](x, n, BLOCK=1024)", True),
        ("range(tl.cdiv(n, BLOCK))", "B = 64\n    k[(1,)](x, n, B)", True),
        ("range(steps)", "k[(1,)](x, n, 64 if wide else 32)", True),
        ("range(0, n, BLOCK)", "k[(1,)](x, n, BLOCK=triton.next_power_of_2(n))", False),
        ("range(0, n, BLOCK)", "k[(1,)](x, 64, BLOCK=64)", False),
        ("range(0, tl.load(x), BLOCK)", "k[(1,)](x, n, BLOCK=64)", False),
        ("range(tl.program_id(0), n, BLOCK)", "k[(1,)](x, n, BLOCK=64)", False),
        ("range(0, n, BLOCK)", "pass", False),
    ],
)
def test_whether_a_larger_size_makes_a_loop_turn_again(loop: str, launch: str, can: bool) -> None:
    kernel = f"def k(x, n, BLOCK):\n    steps = tl.cdiv(n, BLOCK)\n    for i in {loop}:\n        pass\n"
    tree = ast.parse(f"{kernel}\ndef run(x, n, wide):\n    {launch}\n")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert Kernel(tree, function).can_turn_twice(function.body[1]) is can


def test_a_loop_that_cannot_turn_twice_is_told(verdicts: Mapping[str, Verdict]) -> None:
    verdict = verdicts["the loop turns once, whatever the size"]
    assert verdict.passed, verdict.reason
    assert verdict.coverage.described.endswith("loops turned 1 time")
    assert "loop-turns" in lacking(verdict)
    assert "coverage" not in lacking(verdict)


@pytest.mark.parametrize(
    ("old", "wrong", "right"),
    [("y * 2", "y * 2.5", "2 * y"), ("y + 3", "y + 4", "3 + y"), ("y + bias", "y - bias", "bias + y")],
)
def test_flags_and_options_are_tried_for_a_changed_line(old: str, wrong: str, right: str) -> None:
    failed = trial(FLAGS, FLAGS.replace(old, wrong), CALL).verdict
    assert [check.name for check in failed.failed_checks] == ["values"], failed.reason
    assert trial(FLAGS, FLAGS.replace(old, right), CALL).verdict.passed


def test_a_changed_line_that_nothing_reaches_is_not_verified() -> None:
    verdict = trial(FLAGS, FLAGS.replace("y + 5", "y + 6"), CALL).verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "line 10 (`y = y + 6`), which is not in the baseline, ran in no case" in verdict.reason
    assert verdict.coverage.missed[-1] == 9


@pytest.mark.parametrize(("kernel", "status"), [("", VerdictStatus.PASSED), ("large", VerdictStatus.NOT_CHECKABLE)])
def test_of_own_rewrites_it_is_told(kernel: str, status: VerdictStatus) -> None:
    """Though not of a kernel that was named."""
    text = NEVER.replace(*BROKEN) if kernel else FLAGS.replace("y + 5", "y + 6")
    base, case = (NEVER, DOUBLE) if kernel else (FLAGS, CALL)
    job = Trial("/nowhere/k.py", base, base, text, workload(case), False, QUICK, kernel=kernel, rewritten=True)
    verdict = judged([job])[0].verdict
    assert verdict.status is status, verdict.reason
    assert ("coverage" in lacking(verdict)) is (status is VerdictStatus.PASSED)


def test_a_dead_branch_that_was_there_before_needs_nothing() -> None:
    verdict = trial(FLAGS, FLAGS.replace("x + 1", "1 + x"), CALL).verdict
    assert verdict.passed, verdict.reason
    assert verdict.coverage.described == "7 of 10 lines ran"
    assert not lacking(verdict) & {"coverage", "loop-turns"}


def test_guards_that_raise_need_no_case() -> None:
    guarded = FLAGS.replace(
        "    y = x + 1", "    if x.is_cuda:\n        raise TypeError(f'{x} is not on a CPU')\n    y = x + 1"
    )
    assert trial(FLAGS, guarded, CALL).verdict.passed


def test_a_branch_for_another_device_needs_no_case() -> None:
    elsewhere = FLAGS.replace("    y = x + 1", "    if x.is_cuda:\n        return torch.relu(x)\n    y = x + 1")
    verdict = trial(FLAGS, elsewhere, CALL).verdict
    assert verdict.passed, verdict.reason
    assert verdict.coverage.described == "8 of 12 lines ran"


def test_another_function_of_the_file_needs_no_case() -> None:
    assert trial(FLAGS, FLAGS + "def g(x):\n    return x - 1\n", CALL).verdict.passed


@pytest.mark.parametrize("forged", ["_kernelwright_ran.__self__.clear()", "_kernelwright_ran(10**30)"])
def test_a_forged_report_hides_no_fault(forged: str) -> None:
    verdict = trial(FLAGS, FLAGS.replace("    y = x + 1", f"    {forged}\n    y = x + 1 + 1"), CALL).verdict
    assert [check.name for check in verdict.failed_checks] == ["values"], verdict.reason


def test_a_report_of_anything_but_numbers_ends_the_trial() -> None:
    with pytest.raises(JobFailed, match="must not write to file descriptors"):
        trial(FLAGS, FLAGS.replace("    y = x + 1", "    _kernelwright_ran('line')\n    y = x + 1"), CALL)


def test_where_kernels_are_compiled_their_launches_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of their lines, which is told as not seen."""
    monkeypatch.setattr(JITFunction, "run", lambda self, *args, **kwargs: None)
    monkeypatch.setattr(ran, "_probes", None)
    ran.watch()
    module = load_module("/nowhere/k.py", TWO)
    ran.look_at_kernels(module.__file__)
    module.double(torch.randn(300))
    seen = ran.taken()
    assert seen.launched == ("small",)
    text, baseline = (Text(one, "double", "") for one in (TWO, TWO.replace("* 2,", "* 3,")))
    assert (
        coverage(text, seen, inside=False).described == "1 of 2 kernels launched, 5 of 6 lines outside of kernels ran"
    )
    found = missing(text, baseline, "large", seen, inside=False)
    assert found.unseen
    assert found.said == ("kernel `large` was launched",)
