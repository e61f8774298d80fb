"""The candidate's calls, on a GPU also between unmapped addresses: what it reads or writes out of bounds is found there.

What the baseline does itself is not held against a candidate.
"""

from kernelwright.proof.worker.bench import Bench, Rejected, Targets
from kernelwright.proof.worker.gate.cases import Variation
from kernelwright.proof.worker.hosts.bounds import ALIGNMENT, NAME
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation
from kernelwright.values import Check

_LEFT_OUT = "accesses out of bounds are not looked for"


def observe_in_bounds(
    bench: Bench,
    contender: Contender,
    variation: Variation,
    targets: Targets,
    inputs: Inputs,
    like: Observation,
    *,
    poisoned: bool,
) -> Observation:
    """One call of the candidate; where memory is `poisoned` and a GPU is at work, one more between unmapped addresses.

    Raises Rejected, JobFailed, Undecidable.
    """
    case, seed = variation.described, variation.seed
    if not poisoned or bench.device != "cuda" or bench.unbounded:
        return contender.observe(targets, inputs, like, case=case, seed=seed, poisoned=poisoned)
    try:
        observed = contender.observe(targets, inputs, like, case=case, seed=seed, poisoned=True, bounded=True)
    except Rejected as rejected:
        excuse = _excuse(bench, rejected.check, variation, targets, inputs, like)
        if excuse is None:
            raise
        bench.unbounded = True
        bench.notes.append(f"{_LEFT_OUT}: {excuse}")
        contender.start_again()
        return contender.observe(targets, inputs, like, case=case, seed=seed, poisoned=True)
    bench.bounded += not contender.unbounded
    why = f"{_LEFT_OUT} everywhere: {contender.unbounded}"
    bench.notes += [why] if contender.unbounded and why not in bench.notes else []
    return observed


def bounds_kept(bench: Bench) -> list[Check]:
    """The line about it, where it was looked for at all."""
    if not bench.bounded or bench.unbounded:
        return []
    calls = f"{bench.bounded} call{'s' if bench.bounded > 1 else ''}"
    return [Check(NAME, calls, True, "every tensor lay against memory that is not mapped, and no access ended there")]


def _excuse(
    bench: Bench, failed: Check, variation: Variation, targets: Targets, inputs: Inputs, like: Observation
) -> str | None:
    """Why what has ended the call is not held against the candidate; None where it is."""
    if failed.name == ALIGNMENT:
        return "it asks for tensors at multiples of more than 16 bytes"
    if failed.name != NAME:
        return None
    original = Contender(bench, bench.trial.baseline, bench.trial.home)
    try:
        original.observe(
            targets, inputs, like, case=variation.described, seed=variation.seed, poisoned=True, bounded=True
        )
    except Rejected as rejected:
        return "the original makes them as well" if rejected.check.name == NAME else None
    finally:
        original.close()
    return None
