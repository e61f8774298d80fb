"""What the baseline would return if it did not round to 16 bits on the way.

Its fp64 run rounds where its text does, so it shares these errors and knows nothing of them: a candidate that rounds less
seems to be further off than the baseline. Beside a run without those casts the baseline's errors are seen, and what is nearer
to that run than the baseline is as accurate.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from kernelwright.proof.worker.answers.deviation import deviation, typical_size
from kernelwright.proof.worker.answers.judge import BEST_FIRST, Judged
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import untrusted
from kernelwright.proof.worker.answers.trivial import Trivial
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.construct import wide_target
from kernelwright.proof.worker.inputs import Inputs, map_tensors
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.targets import Targets
from kernelwright.values import Accuracy


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

    With that run; None where it was not needed, where there is none, or where a copy of an input comes to the same: then
    rounding is what the text is for.
    """
    made = unrounded(bench, targets) if judged.finding is not None else None
    double = None if made is None else in_fp64(made, inputs, baseline, seed=seed, original=targets.baseline)
    if not isinstance(double, Observation):
        return judged, None
    oracle = Oracle(double, baseline)
    beside = compare(oracle)
    if Trivial.COPY in beside.trivial:
        return judged, None
    found = better(judged, beside)
    exact = _as_baseline(double, baseline) if found.finding is not None and None in oracle.own_errors else None
    return found if exact is None else better(found, _nearer(compare(Oracle(double, exact)))), oracle


def unrounded(bench: Bench, targets: Targets) -> Any:
    """The baseline with float64 for its types of 16 and 32 bits; None where it names none of 16, or is another module then."""
    try:
        return wide_target(bench, bench.exact, targets.init, targets.baseline)
    except Exception:  # noqa: BLE001  (constructing runs the user's own code)
        return None


def _as_baseline(double: Observation, baseline: Observation) -> Observation | None:
    """The exact answer in the baseline's types, where that itself is too far off to tell what is right: then this one does.

    None where it is further off than bfloat16 explains, as what is made of the roundings themselves is.
    """
    expected, got = baseline.tensors(), double.tensors()
    alike = [t.shape for t in expected] == [t.shape for t in got]
    if not alike or baseline.changed_inputs or baseline.changed_state or not all(map(_rounded, got, expected)):
        return None
    exact = iter(got)
    output = map_tensors(lambda tensor: next(exact).to(tensor.dtype), baseline.output)
    return Observation(output, aliases=baseline.aliases)


def _rounded(exact: torch.Tensor, baseline: torch.Tensor) -> bool:
    if not baseline.is_floating_point() or not baseline.numel():
        return True
    scale = typical_size(exact, baseline.dtype)
    return deviation(exact, baseline, baseline, scale).worst <= untrusted(torch.bfloat16)


def _nearer(judged: Judged) -> Judged:
    """What is within the usual of the exact answer is nearer to it than a baseline that is further off than can be trusted."""
    if not judged.reduced:
        return judged
    best = lambda accuracy: min(accuracy, Accuracy.AS_BASELINE, key=BEST_FIRST.index)
    return Judged(None, tuple(replace(one, accuracy=best(one.accuracy)) for one in judged.errors))


def better(one: Judged, other: Judged) -> Judged:
    """That in which less is wrong: nothing, accuracy alone, anything else."""
    return min(one, other, key=lambda judged: 0 if judged.finding is None else 1 if judged.reduced else 2)
