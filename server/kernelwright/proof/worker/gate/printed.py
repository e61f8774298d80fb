"""Programs: what `main` of the candidate prints, and its exit status, held against what the baseline's prints."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from kernelwright.proof.worker.answers.printed import Line, difference, lines_of, unsteady
from kernelwright.proof.worker.bench import Bench, Report
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.in_bounds import bounds_kept
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs, workload_failed
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.raised import describe
from kernelwright.proof.worker.rejected import Rejected, Undecidable
from kernelwright.proof.worker.subject import case_call
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Case, Check, Workload, WorkloadSource

UNMEASURED = "Speed not measured: what a program prints is compared, and a line that launches its kernel is timed."
_MORE = 3  # runs of the baseline where the candidate's differs: a time may have been the same twice
_NOTE = "compared by what main prints on data of its own"


def verify_program(bench: Bench, contender: Contender, report: Report) -> None:
    """The checks of a workload that is a program. Raises Rejected, Undecidable, JobFailed."""
    for case in bench.trial.workload.cases:
        report(f"Verifying: what {case.text} prints")
        _compare(bench, contender, case)
    bench.evidence.notes.append(_NOTE)
    assert contender.confinement is not None  # known since it was first called
    bench.evidence.checks.append(Check("sandbox", "the candidate's process", True, contender.confinement.sentence))
    bench.evidence.checks += bounds_kept(bench.evidence, interpreted=bench.interpreted)


def verify_programs_beside(bench: Bench, report: Report) -> None:
    """The programs of a workload that calls something else, each in both texts. Raises Rejected, Undecidable, JobFailed."""
    programs = bench.trial.workload.programs
    if not programs:
        return
    trial = dataclasses.replace(bench.trial, workload=Workload(WorkloadSource.PROGRAM, "main", programs))
    own = dataclasses.replace(bench, trial=trial, targets={})
    contender = Contender(own, trial.candidate)
    try:
        for case in programs:
            report(f"Verifying: what {case.text} prints")
            _compare(own, contender, case)
    finally:
        contender.leave()


def _compare(bench: Bench, contender: Contender, case: Case) -> None:
    """One command line. The baseline runs twice, threads in another order the second time, and so does the candidate."""
    variation = Variation(case.text, case_call(case.text), bench.trial.limits.first_seed)
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    runs = [_baseline(targets.baseline, inputs, variation, poisoned=again) for again in (False, True)]
    (status, text), (status_again, text_again) = (run.output for run in runs)
    if status != status_again:
        raise Undecidable(f"{case.text} ends with status {status} and then with {status_again}: have it end alike.")
    base = lines_of(text)
    left_out = _varying(case, base, lines_of(text_again))
    double = _double(targets, inputs, variation)
    for again in (False, True):
        got = contender.observe(targets, inputs, runs[0], case=case.text, seed=variation.seed, poisoned=again).output
        if not _is_answer(got):
            raise Rejected(
                "runs", case.text, "its process answers with something else than a status and what was printed"
            )
        if got[0] != status:
            raise Rejected("exit-status", case.text, f"it ends with status {got[0]}, the baseline with {status}")
        printed = lines_of(got[1])
        for number in range(_MORE):
            if difference(base, printed, double, left_out) is None:
                break
            more = _baseline(targets.baseline, inputs, variation, poisoned=number % 2 == 0)
            left_out |= _varying(case, base, lines_of(more.output[1]))
        if (found := difference(base, printed, double, left_out)) is not None:
            raise Rejected("printed", case.text, f"line {found[0] + 1}: {found[1]}")
    _noted(bench, case, base, status, left_out)


def _noted(bench: Bench, case: Case, base: Sequence[Line], status: int, left_out: frozenset[int]) -> None:
    """Raises Undecidable where nothing could be compared."""
    compared = [line for at, line in enumerate(base) if at not in left_out and line.whole.strip()]
    if not compared:
        nothing = "prints nothing" if not base else "prints other lines in each run"
        raise Undecidable(f"{case.text} {nothing}, so that nothing can be compared: have it print its results.")
    numbers = sum(len(line.numbers) for line in compared)
    checks = bench.evidence.checks
    checks.append(Check("exit-status", case.text, True, f"{status}, as the baseline's"))
    checks.append(
        Check("printed", case.text, True, f"{_count(len(compared), 'line')} with {_count(numbers, 'number')}")
    )
    if left_out:
        listed = ", ".join(str(at + 1) for at in sorted(left_out)[:8]) + (", ..." if len(left_out) > 8 else "")
        which = f"line{'' if len(left_out) == 1 else 's'} {listed} of what {case.text} prints"
        bench.evidence.caveats.append(f"{which} left out, since the baseline prints something else in each run")
    if not numbers:
        bench.evidence.caveats.append(f"{case.text} prints no number that was compared")


def _varying(case: Case, base: Sequence[Line], again: Sequence[Line]) -> frozenset[int]:
    found = unsteady(base, again)
    if found is None:
        raise Undecidable(f"{case.text} prints {len(base)} lines and then {len(again)}: nothing can be compared.")
    return found


def _baseline(target: Any, inputs: Inputs, variation: Variation, *, poisoned: bool) -> Observation:
    try:
        return observe(target, inputs, seed=variation.seed, poisoned=poisoned)
    except Exception as error:  # the program raises anything
        raise workload_failed(f"Running {variation.label} raised {describe(error)}") from error


def _double(targets: Targets, inputs: Inputs, variation: Variation) -> tuple[Line, ...]:
    """What the fp64 run prints; nothing where there is none."""
    if targets.double is None or targets.double is targets.baseline:
        return ()
    try:
        return lines_of(observe(targets.double, inputs, seed=variation.seed).output[1])
    except Exception:  # noqa: BLE001  (no reference is needed)
        return ()


def _is_answer(output: Any) -> bool:
    return isinstance(output, tuple) and len(output) == 2 and type(output[0]) is int and type(output[1]) is str


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
