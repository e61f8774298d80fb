"""How many elements the tensors of one call may have: as many as Triton's interpreter bears, and as the baseline needs."""

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS
from kernelwright.proof.worker.gate.line_sizes import elements, shrunk, without_shifts
from kernelwright.proof.worker.observe import observe
from kernelwright.proof.worker.subject import case_call
from kernelwright.proof.worker.variation import Variation

MOST_OF_A_LINE = 1 << 18  # elements of a workload line that the interpreter is given as it is where it must be


def cap(bench: Bench) -> int | None:
    """See `plan`. None where nothing is interpreted; found out once for a bench."""
    if bench.interpreted and bench.evidence.most_elements is None:
        bench.evidence.most_elements = _needed(bench)
    return bench.evidence.most_elements


def _needed(bench: Bench) -> int:
    """A smaller line may break what binds its numbers, as one that is the product of two others; then its own sizes stay."""
    most = INTERPRETER_ELEMENTS
    for text in (case.text for case in bench.trial.workload.cases):
        smaller, own = shrunk(without_shifts(text), most), elements(case_call(text))
        if most < own <= MOST_OF_A_LINE and not runs(bench, smaller) and runs(bench, text):
            most = own
            bench.evidence.notes.append(f"sizes as in {text}, since the baseline fails on smaller ones")
    return most


def runs(bench: Bench, text: str) -> bool:
    """Whether the baseline answers the line, on other data as well: an index into what is smaller may lie in it by chance."""
    first = bench.trial.limits.first_seed
    try:
        for variation in (Variation(text, case_call(text), seed) for seed in (first, first + 1)):
            observe(targets_for(bench, variation).baseline, make_inputs(bench, variation), seed=variation.seed)
    except Exception:  # noqa: BLE001  (the text raises anything)
        return False
    return True
