"""The Verdict on a trial's candidate, from what its bench has collected."""

from collections.abc import Sequence

import torch

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker import without_gpu
from kernelwright.proof.worker.answers.judge import ACCURACY, Judged
from kernelwright.proof.worker.answers.trivial import Trivial, common, told
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.evidence import Evidence
from kernelwright.proof.worker.gate.accuracy import accuracy_of, reduced
from kernelwright.proof.worker.gate.line_sizes import elements
from kernelwright.proof.worker.subject import case_call
from kernelwright.values import Check, Verdict, VerdictStatus, WorkloadSource, digest, unchecked


def verdict_of(bench: Bench, *, failed: Check | None = None, undecidable: str = "") -> Verdict:
    """The Verdict on the trial's candidate from what was collected."""
    trial, evidence = bench.trial, bench.evidence
    ended = _ended_by(evidence, trial, failed)
    status = VerdictStatus.PASSED
    if failed is not None:
        status = VerdictStatus.FAILED
    elif undecidable:
        status = VerdictStatus.NOT_CHECKABLE
    own = [j.baseline_error for j in evidence.judged if j.baseline_error is not None]
    first = next((check for check in ended if not check.passed), None)
    lacking = (*unchecked({check.name for check in evidence.checks}), *evidence.unmade)
    reason = f"{first.name} ({first.case}): {first.detail}" if first else undecidable
    return Verdict(
        status=status,
        text_hash=digest(trial.candidate),
        baseline_hash=digest(trial.baseline),
        checks=(*evidence.checks, *ended),
        reason=reason,
        accuracy=accuracy_of(evidence) if evidence.judged else None,
        max_error=max((j.max_error for j in evidence.judged), default=None),
        baseline_error=max(own, default=None),
        how=how(bench, passed=status is VerdictStatus.PASSED),
        share=evidence.share,
        effort=trial.limits.effort,
        caveats=tuple(dict.fromkeys(evidence.caveats)),
        unchecked=lacking if status is VerdictStatus.PASSED else (),
        coverage=evidence.coverage,
    )


def _ended_by(evidence: Evidence, trial: Trial, failed: Check | None) -> tuple[Check, ...]:
    """The failed check, with reduced accuracy beside it that the gate had no time to say.

    Wrong values are no matter of accuracy. A narrower format has less range, too: of its two faults accuracy comes first.
    """
    if failed is None:
        return ()
    if not evidence.reduced or failed.name in ("values", "nan-poison", ACCURACY):
        return (failed,)
    said = reduced(evidence, trial)
    if said in evidence.checks:
        return (failed,)
    return (said, failed) if failed.name == "nan-parity" else (failed, said)


def how(bench: Bench, *, passed: bool) -> str:
    """Where and on what the checks were made, and what is weak about them where they have all `passed`."""
    if bench.interpreted:
        place = f"in {bench.language.emulator} on the CPU"
        if without_gpu.was_asked_for() or bench.evidence.asks_for_gpu:
            place += f" {without_gpu.NOTE}"
        if bench.trial.workload.cases:
            first = next((c.case.partition(", seed")[0] for c in bench.evidence.checks if c.name == "values"), "")
            if first and elements(case_call(first)) < elements(case_call(bench.trial.workload.cases[0].text)):
                place += f", sizes reduced to {first}"
    elif bench.device == "cuda":
        place = f"on {torch.cuda.get_device_name()}"
    else:
        place = "on the CPU"
    source = bench.trial.workload.source
    kept = "with a workload from the journal" if source is WorkloadSource.JOURNAL else ""
    weak = told(common(judged.trivial for judged in bench.evidence.judged)) if passed else ""
    weak = f"weak for this kernel: {weak}" if weak else ""
    return ", ".join(note for note in dict.fromkeys((place, kept, *bench.evidence.notes, weak)) if note)


def summaries(judged: Sequence[Judged]) -> list[Check]:
    """The comparisons made in every run besides values, one line each."""
    runs = f"all {len(judged)} runs"
    failing = {answer: sum(answer not in one.trivial for one in judged) for answer in Trivial}
    lines = (
        ("trivial-answers", ", ".join(f"{answer} would fail {count}" for answer, count in failing.items())),
        ("structure", "types, nesting, None and real memory as the baseline's"),
        ("shape", "as the baseline's"),
        ("dtype", "as the baseline's"),
        ("device", "as the baseline's"),
        ("layout", "strides as the baseline's, or contiguous where the baseline returns a view"),
        ("nan-parity", "NaN and infinities where the baseline has them and nowhere else"),
        ("inputs-unchanged", "inputs and buffers are changed only where the baseline changes them, and alike"),
        ("alias", "outputs share memory only where the baseline's do, and outlive the next call"),
        ("settings", "settings, environment, clocks and comparison functions of the process are untouched"),
        ("random-state", "the random generators are left as by the baseline"),
    )
    return [Check(name, runs, True, detail) for name, detail in lines]
