"""What the original would return if it did not round to 16 bits on the way.

Its fp64 run rounds where its text does, so it shares these errors and knows nothing of them: a candidate that rounds less
seems to be further off than the original. Beside a run without those casts the original's errors are seen, and what is nearer
to that run than the original is as accurate.
"""

from collections.abc import Callable
from typing import Any

from kernelwright.proof.worker.bench import Bench, Targets, wide_target, wider_module
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.judge import Judged
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.oracle import Oracle
from kernelwright.proof.worker.reference import in_fp64


def judged_unrounded(
    bench: Bench,
    targets: Targets,
    inputs: Inputs,
    baseline: Observation,
    judged: Judged,
    compare: Callable[[Oracle], Judged],
    *,
    seed: int,
) -> tuple[Judged, Oracle | None]:
    """`judged`, or where that finds something the better of it and of `compare` beside the run without casts to 16 bits.

    With that run; None where it was not needed or there is none.
    """
    made = unrounded(bench, targets) if judged.finding is not None else None
    double = None if made is None else in_fp64(made, inputs, baseline, seed=seed, original=targets.baseline)
    if not isinstance(double, Observation):
        return judged, None
    oracle = Oracle(double, baseline)
    return better(judged, compare(oracle)), oracle


def unrounded(bench: Bench, targets: Targets) -> Any:
    """The original with float64 for its types of 16 and 32 bits; None where it names none of 16, or is another module then."""
    if not bench.exact:
        bench.exact = (wider_module(bench.trial, narrow=True),)
    try:
        return wide_target(bench, bench.exact[0], targets.init, targets.baseline)
    except Exception:  # noqa: BLE001  (constructing runs the user's own code)
        return None


def better(one: Judged, other: Judged) -> Judged:
    """That in which less is wrong: nothing, accuracy alone, anything else."""
    return min(one, other, key=lambda judged: 0 if judged.finding is None else 1 if judged.reduced else 2)
