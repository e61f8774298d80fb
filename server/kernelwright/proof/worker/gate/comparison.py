"""One call of the gate: the candidate's answer held against the baseline's, and whether anything follows from it."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch

from kernelwright.proof.worker.answers.fan_in import fan_in
from kernelwright.proof.worker.answers.judge import Judged, judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import reduction_length
from kernelwright.proof.worker.bench import Bench, NotAccepted, Rejected, Targets, Undecidable
from kernelwright.proof.worker.gate.accuracy import (
    hangs_on_a_rounding,
    in_float64,
    judged_closely,
    off_itself,
    too_sensitive,
)
from kernelwright.proof.worker.gate.cases import Variation
from kernelwright.proof.worker.gate.grounds import (
    baseline_run,
    compiles,
    draws_nothing,
    masks_with_a_number,
    repeats,
    takes_views,
    tells_nothing,
)
from kernelwright.proof.worker.gate.in_bounds import observe_in_bounds
from kernelwright.proof.worker.gate.nonfinite import excused
from kernelwright.proof.worker.gate.properties import INFINITE, LARGE, NON_FINITE, PLANTED, VIEWS
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.reference.ties import names_an_open_order, ties_apart
from kernelwright.proof.worker.reference.unrounded import judged_unrounded
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
_EQUAL_VALUES = (
    "The result hangs on which of equal values comes first, which torch leaves open: give the workload data without equal "
    "values (float32 rather than 16 bits, say)."
)


@dataclass(frozen=True)
class _Ground:
    """What the candidate's answer to one call is held against.

    `double`: the fp64 run, or why there is none, in words. `length`: terms summed for an element, as far as shapes tell.
    """

    variation: Variation
    targets: Targets
    inputs: Inputs
    baseline: Observation
    double: Observation | str
    length: int

    @property
    def reference(self) -> Observation | None:
        return self.double if isinstance(self.double, Observation) else None

    @property
    def special(self) -> bool:
        return bool(self.variation.data) or self.variation.finite

    @cached_property
    def oracle(self) -> Oracle:
        # Special data are huge in many places themselves.
        return Oracle(self.reference, self.baseline, masks=not self.variation.data)

    @cached_property
    def terms(self) -> int:
        """Terms summed for an element, as the baseline shows them."""
        target, seed = self.targets.baseline, self.variation.seed
        return fan_in(target, self.inputs, self.baseline, seed=seed, estimate=self.length)

    def judged(self, oracle: Oracle, answer: Observation, length: int | None = None) -> Judged:
        return judge(
            oracle,
            answer,
            self.length if length is None else length,
            any_layout=self.variation.data in VIEWS,
            slack=_SPECIAL_SLACK if self.special else 1.0,
            special=self.special,
            given=self.inputs.tensors(),
        )

    def judged_closely(self, answer: Observation, oracle: Oracle) -> Judged:
        return judged_closely(functools.partial(self.judged, oracle, answer), self.length, lambda: self.terms)


def compare_once(bench: Bench, contender: Contender, variation: Variation, targets: Targets, inputs: Inputs) -> None:
    """Make the call, twice where memory is to be poisoned, and note what it shows.

    Raises Rejected, NotAccepted where nothing follows from it, Undecidable, JobFailed.
    """
    ground = _ground(bench, variation, targets, inputs)
    for poisoned in (False, True) if variation.poisoned else (False,):
        if poisoned and contender.compiled and compiles(bench.trial.candidate):
            continue  # torch.compile steps aside under a dispatch mode: another path would be checked
        answer = observe_in_bounds(bench, contender, variation, targets, inputs, ground.baseline, poisoned=poisoned)
        judged, accepted = _judged(bench, ground, answer)
        random = answer.random
        del answer  # what follows runs the baseline again, which may need the memory
        _must_count(bench, ground, judged)
        _note(bench, ground, judged, accepted, poisoned=poisoned)
        if random != ground.baseline.random:
            _other_random_state(ground, random)


def _ground(bench: Bench, variation: Variation, targets: Targets, inputs: Inputs) -> _Ground:
    """The baseline's answers. Raises NotAccepted where they tell nothing about a candidate's."""
    baseline = baseline_run(bench, variation, targets.baseline, inputs)
    parameters = list(named_state(targets.baseline).values())
    length = reduction_length(inputs.tensors(), parameters, baseline.tensors())
    double = in_fp64(targets.double, inputs, baseline, seed=variation.seed, original=targets.baseline)
    ground = _Ground(variation, targets, inputs, baseline, double, length)
    if tells_nothing(variation, ground.oracle):
        raise NotAccepted
    if variation.data in VIEWS:
        takes_views(variation, targets.baseline, inputs, baseline, length)
    if variation.poisoned:
        repeats(bench, variation, targets.baseline, inputs, ground.oracle, length)
    if variation.numbers:
        draws_nothing(variation, targets.baseline, inputs, ground.oracle)
    return ground


def _judged(bench: Bench, ground: _Ground, answer: Observation) -> tuple[Judged, str]:
    """The best that can be said of the answer, and what was accepted of it, in words.

    Raises NotAccepted where the baseline's own answer is no measure for it.
    """
    text, variation, targets, inputs = bench.trial.baseline, ground.variation, ground.targets, ground.inputs
    baseline, seed = ground.baseline, variation.seed
    observed, infinities = excused(bench, variation, targets.baseline, baseline, answer)
    observed, ties = ties_apart(text, targets.baseline, inputs, baseline, observed, seed=seed)
    beside = functools.partial(ground.judged_closely, observed)
    judged, unrounded = judged_unrounded(bench, targets, inputs, baseline, beside(ground.oracle), beside, seed=seed)
    if (judged.wrong or judged.reduced) and unrounded is not None and tells_nothing(variation, unrounded):
        raise NotAccepted
    return judged, "".join(f"; accepted: {words}" for words in (infinities, ties) if words)


def _must_count(bench: Bench, ground: _Ground, judged: Judged) -> None:
    """Raises NotAccepted or Undecidable where the data decide by a rounding, or by the order of equal values."""
    if not (judged.wrong or judged.reduced):
        return
    variation, exact = ground.variation, (ground.targets, ground.inputs, ground.baseline, ground.reference)
    text = bench.trial.baseline
    if variation.data in INFINITE | {PLANTED} and masks_with_a_number(text):
        raise NotAccepted
    if variation.derived and bench.reduced and judged.wrong and too_sensitive(*exact, seed=variation.seed):
        raise NotAccepted
    tied = names_an_open_order(text)
    if tied and judged.wrong and (variation.data in NON_FINITE or off_itself(ground.oracle)):
        raise NotAccepted if variation.derived else Undecidable(_EQUAL_VALUES)
    roundings = [torch.float32] if variation.data in LARGE or variation.numbers or (tied and variation.data) else []
    roundings += [torch.float64] if variation.data and in_float64(ground.baseline) else []
    if any(hangs_on_a_rounding(*exact, to, seed=variation.seed, whole=tied) for to in roundings):
        raise NotAccepted
    if judged.reduced and variation.data and ground.reference is None:
        raise NotAccepted  # what rounding does on such data is not known


def _other_random_state(ground: _Ground, random: Mapping[str, str]) -> None:
    """Raises Rejected, unless the baseline itself leaves another state each time."""
    expected, variation = ground.baseline.random, ground.variation
    if observe(ground.targets.baseline, ground.inputs, seed=variation.seed).random == expected:
        other = ", ".join(name for name, state in expected.items() if random.get(name) != state)
        raise Rejected(Check("random-state", variation.described, False, f"{other} after the call {_RANDOM}"))


def _note(bench: Bench, ground: _Ground, judged: Judged, accepted: str, *, poisoned: bool) -> None:
    """Raises Rejected."""
    case, data = ground.variation.described, ground.variation.data
    if judged.finding is not None and not judged.reduced:
        name, detail = judged.finding.name, judged.finding.detail
        lost = data in NON_FINITE - INFINITE and name == "nan-parity" and "the baseline has nan" in detail
        if poisoned:
            order = " and programs in the other order" if bench.interpreted else ""
            name, detail = "nan-poison", f"with NaN in freshly allocated memory{order}, {detail}"
        hint = _LOST if lost and not poisoned else _OPEN_ORDER if names_an_open_order(bench.trial.baseline) else ""
        raise Rejected(Check(name, case, False, detail + hint))
    no_reference = isinstance(ground.double, str) and judged.baseline_error is None
    why = f" ({ground.double})" if no_reference else ""
    bench.checks.append(Check("nan-poison" if poisoned else "values", case, True, judged.detail + why + accepted))
    bench.judged.append(judged)
    bench.reduced += [(case, judged)] if judged.reduced else []
