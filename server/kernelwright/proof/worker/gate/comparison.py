"""One call of the gate: the candidate's answer held against the baseline's, and whether anything follows from it."""

import functools
from collections.abc import Mapping

from kernelwright.proof.worker.answers.judge import Judged, judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.gate.grounds import Ground, repeats_when_tuned, tells_nothing
from kernelwright.proof.worker.gate.in_bounds import baseline_stays, observe_in_bounds
from kernelwright.proof.worker.gate.in_tf32 import wrong_in_tf32
from kernelwright.proof.worker.gate.nonfinite import excused
from kernelwright.proof.worker.gate.properties import INFINITE, NON_FINITE, VIEWS
from kernelwright.proof.worker.gate.roundings import must_count
from kernelwright.proof.worker.gate.unrounded import judged_unrounded
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.reference.ties import names_an_open_order, ties_apart
from kernelwright.proof.worker.rejected import NotAccepted, Rejected
from kernelwright.values import Check

_RANDOM = (
    "is not as the baseline leaves it: seed nothing, draw the baseline's numbers in its order, and others from a generator of "
    "their own"
)
_SPECIAL_SLACK = 8.0  # rounding errors of special data do not average out as the tolerance supposes
_LOST = (
    ". A NaN in the inputs must stay visible: fmaxf, fminf, tl.max and tl.maximum drop it "
    "(tl.maximum keeps it with propagate_nan=tl.PropagateNan.ALL)"
)
_OPEN_ORDER = ". The baseline leaves open which of equal values comes first: data without equal values tell more"


def compare_once(bench: Bench, contender: Contender, ground: Ground) -> None:
    """Make the call, twice where memory is to be poisoned, and note what it shows.

    Raises Rejected, NotAccepted where nothing follows from it, Undecidable, JobFailed.
    """
    for poisoned in (False, True) if ground.variation.poisoned else (False,):
        if poisoned and contender.compiled and bench.language.compiles(bench.trial.candidate):
            continue  # torch.compile steps aside under a dispatch mode: another path would be checked
        answer = observe_in_bounds(bench, contender, ground, poisoned=poisoned)
        judged, accepted = _judged(bench, ground, answer)
        random = answer.random
        del answer  # what follows runs the baseline again, which may need the memory
        if judged.wrong and ground.variation.derived:
            repeats_when_tuned(bench, ground)
        if judged.finding is not None and not judged.reduced and ground.variation.derived:
            baseline_stays(bench, ground)
        must_count(bench, ground, judged)
        _note(bench, ground, judged, accepted, poisoned=poisoned, remarks=contender.ran.remarks)
        if random != ground.baseline.random:
            _other_random_state(bench, contender, ground, random)


def _judged(bench: Bench, ground: Ground, answer: Observation) -> tuple[Judged, str]:
    """The best that can be said of the answer, and what was accepted of it, in words.

    Raises NotAccepted where the baseline's own answer is no measure for it.
    """
    text, variation, targets, inputs = bench.trial.baseline, ground.variation, ground.targets, ground.inputs
    baseline, seed = ground.baseline, variation.seed
    observed, infinities = excused(bench, variation, targets.baseline, baseline, answer)
    observed, ties = ties_apart(text, targets.baseline, inputs, baseline, observed, seed=seed)
    beside = functools.partial(_beside, ground, observed)
    judged, unrounded = judged_unrounded(bench, targets, inputs, baseline, beside(ground.oracle), beside, seed=seed)
    if (judged.wrong or judged.reduced) and unrounded is not None and tells_nothing(variation, unrounded):
        raise NotAccepted
    rounded = judged.wrong and variation.derived and bench.trial.limits.accept_reduced
    if rounded and wrong_in_tf32(ground, observed, lambda answer: _beside(ground, answer, ground.oracle)):
        raise NotAccepted
    return judged, "".join(f"; accepted: {words}" for words in (infinities, ties) if words)


def _beside(ground: Ground, answer: Observation, oracle: Oracle) -> Judged:
    """The answer beside the oracle, with the terms that shapes tell; where accuracy hangs on them, with what is measured.

    An elementwise function of a long row is no long sum, and the shapes are the same.
    """

    def judged(length: int) -> Judged:
        return judge(
            oracle,
            answer,
            length,
            any_layout=ground.variation.data in VIEWS,
            slack=_SPECIAL_SLACK if ground.special else 1.0,
            special=ground.special,
            given=ground.inputs.tensors(),
        )

    found = judged(ground.length)
    return judged(min(ground.length, ground.terms)) if found.finding is None and found.by_length else found


def _other_random_state(bench: Bench, contender: Contender, ground: Ground, random: Mapping[str, str]) -> None:
    """Raises Rejected, unless the baseline itself leaves another state each time, or did so in its own first call."""
    expected, variation = ground.baseline.random, ground.variation
    if observe(ground.targets.baseline, ground.inputs, seed=variation.seed).random != expected:
        return
    if not _drawn_once_by_both(bench, contender, ground, random):
        other = ", ".join(name for name, state in expected.items() if random.get(name) != state)
        raise Rejected("random-state", variation.described, f"{other} after the call {_RANDOM}")


def _drawn_once_by_both(bench: Bench, contender: Contender, ground: Ground, random: Mapping[str, str]) -> bool:
    """Whether a first call of the baseline leaves this `random` state, and a further one of the candidate the baseline's.

    A module that draws when it is imported, and is imported in the first call, has long been imported in this process.
    """
    call = ground.targets, ground.inputs, ground.baseline
    case, seed = ground.variation.described, ground.variation.seed
    if contender.observe(*call, case=case, seed=seed).random != ground.baseline.random:
        return False
    fresh = Contender(bench, bench.trial.baseline, bench.trial.home)
    try:
        return fresh.observe(*call, case=case, seed=seed).random == random
    except Rejected:
        return False
    finally:
        fresh.close()


def _note(
    bench: Bench, ground: Ground, judged: Judged, accepted: str, *, poisoned: bool, remarks: tuple[str, ...] = ()
) -> None:
    """Raises Rejected."""
    remark = "".join(f"; {words}" for words in remarks)
    case, data = ground.variation.described, ground.variation.data
    if judged.finding is not None and not judged.reduced:
        name, detail = judged.finding.name, judged.finding.detail
        lost = data in NON_FINITE - INFINITE and name == "nan-parity" and "the baseline has nan" in detail
        if poisoned:
            order = " and programs in the other order" if bench.interpreted else ""
            name, detail = "nan-poison", f"with NaN in freshly allocated memory{order}, {detail}"
        hint = _LOST if lost and not poisoned else _OPEN_ORDER if names_an_open_order(bench.trial.baseline) else ""
        raise Rejected(name, case, detail + hint + remark)
    no_reference = isinstance(ground.double, str) and judged.baseline_error is None
    why = f" ({ground.double})" if no_reference else ""
    name = "nan-poison" if poisoned else "values"
    bench.evidence.checks.append(Check(name, case, True, judged.detail + why + accepted))
    bench.evidence.judged.append(judged)
    bench.evidence.reduced += [(case, judged)] if judged.reduced else []
