"""Sizes that a baseline needs as they are, kept where a workload line is made smaller for an interpreter."""

from dataclasses import replace

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.gate.cap import MOST_OF_A_LINE, runs
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS
from kernelwright.proof.worker.gate.line_sizes import elements, pinned, shrunk, without_shifts
from kernelwright.proof.worker.subject import case_call
from kernelwright.values import Case, Workload


def workload(bench: Bench) -> Workload:
    """The workload, a size that the baseline cannot do without written as `1_024`, which no line made of it changes.

    A text may launch as many blocks as a tensor has elements, by a number of its own. Found out once for a bench.
    """
    given, evidence = bench.trial.workload, bench.evidence
    if not bench.interpreted:
        return given
    if evidence.workload is None:
        evidence.workload = replace(given, cases=tuple(_pinned(bench, case) for case in given.cases))
    return evidence.workload


def _pinned(bench: Bench, case: Case) -> Case:
    text = without_shifts(case.text)
    if elements(case_call(text)) <= MOST_OF_A_LINE or runs(bench, shrunk(text, INTERPRETER_ELEMENTS)):
        return case  # what is small is not made smaller where it must not be: see `cap`
    for line in pinned(text):
        smaller = shrunk(line, INTERPRETER_ELEMENTS)
        if elements(case_call(smaller)) <= MOST_OF_A_LINE and runs(bench, smaller):
            return replace(case, text=line)
    return case
