"""The candidate's calls, on a GPU also between unmapped addresses: what it reads or writes out of bounds is found there.

What the baseline does itself is not held against a candidate.
"""

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.evidence import Evidence
from kernelwright.proof.worker.gate.grounds import Ground
from kernelwright.proof.worker.hosts.bounds import ALIGNMENT, NAME
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.rejected import RACE, NotAccepted, Rejected
from kernelwright.values import Check

_LEFT_OUT = "accesses out of bounds are not looked for"
_INTERPRETED = (
    (NAME, "no access beyond a tensor was seen"),
    (RACE, "no two programs or threads were seen to touch an element, one writing, with nothing that orders them"),
)


def observe_in_bounds(bench: Bench, contender: Contender, ground: Ground, *, poisoned: bool) -> Observation:
    """One call of the candidate; where memory is `poisoned` and a GPU is at work, one more between unmapped addresses.

    Raises Rejected, JobFailed, Undecidable.
    """
    if not poisoned or bench.device != "cuda" or bench.evidence.unbounded:
        return _observed(contender, ground, poisoned=poisoned)
    try:
        observed = _observed(contender, ground, poisoned=True, bounded=True)
    except Rejected as rejected:
        excuse = _excuse(bench, rejected.check, ground)
        if excuse is None:
            raise
        bench.evidence.unbounded = True
        bench.evidence.notes.append(f"{_LEFT_OUT}: {excuse}")
        contender.start_again()
        return _observed(contender, ground, poisoned=True)
    bench.evidence.bounded += not contender.unbounded
    if contender.unbounded:
        bench.evidence.notes.append(f"{_LEFT_OUT} everywhere: {contender.unbounded}")
    return observed


def bounds_kept(evidence: Evidence, *, interpreted: bool = False) -> list[Check]:
    """The lines about it, where it was looked for at all. Triton's interpreter looks at each access, and at races."""
    if interpreted:
        return [Check(name, "all calls", True, detail) for name, detail in _INTERPRETED]
    if not evidence.bounded or evidence.unbounded:
        return []
    calls = f"{evidence.bounded} call{'s' if evidence.bounded > 1 else ''}"
    return [Check(NAME, calls, True, "every tensor lay against memory that is not mapped, and no access ended there")]


def _observed(contender: Contender, ground: Ground, *, poisoned: bool, bounded: bool = False) -> Observation:
    case, seed = ground.variation.described, ground.variation.seed
    how = {"case": case, "seed": seed, "poisoned": poisoned, "bounded": bounded}
    return contender.observe(ground.targets, ground.inputs, ground.baseline, **how)


def _excuse(bench: Bench, failed: Check, ground: Ground) -> str | None:
    """Why what has ended the call is not held against the candidate; None where it is."""
    if failed.name == ALIGNMENT:
        return "it asks for tensors at multiples of more than 16 bytes"
    if failed.name != NAME:
        return None
    return "the baseline makes them as well" if _baseline_strays(bench, ground) else None


def baseline_stays(bench: Bench, ground: Ground) -> None:
    """On a GPU the baseline must stay within its tensors: what it finds beyond them is no measure for another's answer.

    Of a derived case, as a product of tiles on sizes that no tile divides; the workload's own is what its author says.
    Raises NotAccepted.
    """
    if bench.device == "cuda" and _baseline_strays(bench, ground):
        raise NotAccepted


def _baseline_strays(bench: Bench, ground: Ground) -> bool:
    """Whether the baseline accesses memory out of bounds, as far as a call between unmapped addresses shows."""
    baseline = Contender(bench, bench.trial.baseline, bench.trial.home)
    try:
        _observed(baseline, ground, poisoned=True, bounded=True)
    except Rejected as rejected:
        return rejected.check.name == NAME
    finally:
        baseline.close()
    return False
