"""The last check: what of a candidate ran. Where something is missing that should have run, cases are looked for that reach it.

What ran is the word of the candidate's process: one that lies about it passes what it would pass anyway.
"""

import ast
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from kernelwright.proof.worker.bench import Bench, Report, interpreting
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.gate.accuracy import settle
from kernelwright.proof.worker.gate.ahead import Ahead
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS
from kernelwright.proof.worker.gate.gate import examine
from kernelwright.proof.worker.gate.line_sizes import at_numbers, elements, shrunk
from kernelwright.proof.worker.gate.named_numbers import written_numbers
from kernelwright.proof.worker.gate.other_numbers import compare_changes
from kernelwright.proof.worker.gate.pinned import workload
from kernelwright.proof.worker.gate.scalar_arguments import changes, options
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.patience import patience
from kernelwright.proof.worker.reached import Missing
from kernelwright.proof.worker.rejected import NotAccepted, Undecidable
from kernelwright.proof.worker.subject import case_call
from kernelwright.proof.worker.texts import parsed
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Check, WorkloadSource

_MOST, _SECONDS = 32, 8.0  # cases, and the time after which none is begun, and a baseline's call ends
_MOST_ELEMENTS = 1 << 18  # of a line as written
_MOST_AT_NUMBERS = 1 << 20  # four rows of two blocks of 65536 elements, and more of what is smaller
_MOST_SAID = 3
_TURNED = "no changed kernel has a loop of varying length that turned only once"


def cover(bench: Bench, contender: Contender, report: Report) -> None:
    """Raises Undecidable where a case is missing, and Rejected, JobFailed."""
    trial, evidence = bench.trial, bench.evidence
    if not contender.ran.lines:
        return
    texts = trial.candidate, trial.baseline
    reached = lambda: bench.language.reached(
        *texts, trial.workload.entry, trial.kernel, contender.ran, inside=interpreting()
    )
    lacking = lambda: reached()[1]
    found = _looked_for(bench, contender, report, lacking)
    evidence.coverage = reached()[0]
    if found.said and (not trial.rewritten or trial.kernel in evidence.coverage.unlaunched):
        more = f" (and {len(found.said) - _MOST_SAID} more)" if len(found.said) > _MOST_SAID else ""
        said = "; ".join(f"{one} in no case" for one in found.said[:_MOST_SAID])
        raise Undecidable(f"Not all of the text was reached: {said}{more}. Add a workload line that reaches it.")
    if not found.unseen and not found.said:
        evidence.checks.append(Check("coverage", "all cases", True, evidence.coverage.described))
    if not found.unseen and not found.loops:
        evidence.checks.append(Check("loop-turns", "all cases", True, _TURNED))


def _looked_for(bench: Bench, contender: Contender, report: Report, lacking: Callable[[], Missing]) -> Missing:
    """What is missing after the cases that were looked for."""
    evidence, start, found = bench.evidence, time.monotonic(), lacking()
    reduced = len(evidence.reduced)
    for number, attempt in enumerate(_attempts(bench, contender) if found else ()):
        report("Verifying: looking for cases that reach all of the text")
        with contextlib.suppress(NotAccepted), patience(_SECONDS):
            attempt()
        found = lacking()
        if not found or number + 1 == _MOST or time.monotonic() - start > _SECONDS:
            break
    if len(evidence.reduced) > reduced:
        settle(evidence, bench.trial)
    return found


def _attempts(bench: Bench, contender: Contender) -> Iterator[Callable[[], None]]:
    """The workload as written, with other flags and options, and with sizes about the numbers of the candidate's text."""
    trial, ahead = bench.trial, Ahead(bench, ())
    if trial.workload.source is WorkloadSource.PROGRAM:
        return  # its data are its own
    seed = trial.limits.first_seed + 5
    made = lambda one: Variation(one, case_call(one), seed, derived=True)
    tried = lambda one: lambda: examine(bench, contender, one, ahead)
    lines = [case.text for case in workload(bench).cases]
    for line in lines if bench.interpreted else ():
        if INTERPRETER_ELEMENTS < elements(case_call(line)) <= _MOST_ELEMENTS:
            yield tried(made(line))
    small = [made(shrunk(line, INTERPRETER_ELEMENTS)) for line in lines] or [
        Variation("get_inputs() with batch 2", None, seed, rows=2, derived=True)
    ]
    for one in small:
        yield lambda one=one: _with_options(bench, contender, one)
    numbers = [number for number in written_numbers(trial.candidate) if number <= _MOST_AT_NUMBERS]
    for one in small:
        for line in at_numbers(one.label, numbers, _MOST_AT_NUMBERS) if one.call is not None else ():
            yield tried(made(line))


def _with_options(bench: Bench, contender: Contender, variation: Variation) -> None:
    targets = targets_for(bench, variation)
    contender.construct(targets)
    inputs, nodes = make_inputs(bench, variation), ast.walk(parsed(bench.trial.baseline))
    words = {
        inner.value for node in nodes if isinstance(node, ast.Compare) for inner in ast.walk(node) if _is_word(inner)
    }
    changed = (*changes(targets.baseline, inputs), *options(targets.baseline, inputs, sorted(words)))
    compare_changes(bench, contender, replace(variation, numbers=True, finite=True), targets, changed)


def _is_word(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
