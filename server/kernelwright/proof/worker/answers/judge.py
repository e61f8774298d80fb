"""The verdict on one call: what the candidate returned and changed, held against the baseline and the fp64 run.

Works on Observations alone, so that the judge may live in a process where the candidate's code never ran.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from kernelwright.proof.worker.answers.compare import EIGHT_BITS, Errors, values
from kernelwright.proof.worker.answers.form import Finding, same_form, structure
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.scalars import Scalar, computed
from kernelwright.proof.worker.answers.trivial import Trivial, common, told
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.rejected import Undecidable
from kernelwright.proof.worker.tensors import as_tensor, same_bits
from kernelwright.values import Accuracy

ACCURACY = "accuracy"  # the check that reduced accuracy fails; the only one that a setting may overrule
BEST_FIRST = tuple(Accuracy)


@dataclass(frozen=True)
class Judged:
    """The first failed comparison, or the largest errors of one call; both where all that failed is ACCURACY."""

    finding: Finding | None
    errors: tuple[Errors, ...] = ()

    @property
    def max_error(self) -> float:
        return max((e.candidate for e in self.errors), default=0.0)

    @property
    def baseline_error(self) -> float | None:
        return max((e.baseline for e in self.errors if e.baseline is not None), default=None)

    @property
    def own(self) -> float | None:
        """The baseline's largest relative error."""
        return max((e.own for e in self.errors if e.own is not None), default=None)

    @property
    def reduced(self) -> bool:
        """Whether accuracy is all that is lost."""
        return self.finding is not None and self.finding.name == ACCURACY

    @property
    def wrong(self) -> bool:
        """Whether numbers are off by more than any precision explains."""
        return self.finding is not None and self.finding.name == "values"

    @property
    def accuracy(self) -> Accuracy:
        return worst_of(e.accuracy for e in self.errors)

    @property
    def by_length(self) -> bool:
        """Whether an output counts as accurate only because of the number of terms that are summed for it."""
        return any(e.by_length for e in self.errors)

    @property
    def few(self) -> bool:
        """Whether the outputs of reduced accuracy have too few elements to tell rounding from a wrong constant."""
        return all(e.few for e in self.errors if e.accuracy is Accuracy.REDUCED)

    @property
    def trivial(self) -> frozenset[Trivial]:
        """What would pass as well, in the place of every output."""
        return common(e.trivial for e in self.errors)

    @property
    def detail(self) -> str:
        """The evidence of the output with the largest error, with the note on what the data cannot show."""
        if not self.errors:
            return "no tensors to compare"
        worst = max(self.errors, key=lambda e: e.candidate)
        return worst.detail + (f"; weak here: {told(self.trivial)}" if self.trivial else "")


def worst_of(accuracies: Iterable[Accuracy]) -> Accuracy:
    """The worst class; of none the best, since nothing differs."""
    return max(accuracies, key=BEST_FIRST.index, default=Accuracy.BIT_EXACT)


def judge(
    oracle: Oracle,
    candidate: Observation,
    length: int,
    *,
    any_layout: bool = False,
    known: float = 0.0,
    slack: float = 1.0,
    special: bool = False,
    given: Sequence[torch.Tensor] = (),
) -> Judged:
    """Compare structure, form, values, changes to inputs and state, and sharing of memory, in that order; accuracy last.

    `any_layout`: on inputs that are views nothing is asked of the strides of the outputs. `known`, `slack`, `special`,
    `given`: see compare.values. Raises Undecidable where an answer of 8 floating-point bits differs.
    """
    found = _otherwise_made(oracle.baseline, candidate)
    if found is not None:
        return Judged(found)
    errors: list[Errors] = []
    lost: Finding | None = None
    for (where, part), got in zip(oracle.parts, oracle.answers(candidate), strict=True):
        if isinstance(part, Scalar):
            if part.same(got):
                errors += [Errors(abs(part.base - got), None, "a number")] if part.differs(got) else []
                continue
            if part.expected is None or not computed(got):
                return Judged(Finding("values", f"{where} is {got!r} instead of {part.base!r}"))
            part, got = part.expected, as_tensor(got)
        found = same_form(part.given, got, where)
        if found is not None and not (any_layout and found.name == "layout"):
            return Judged(found)
        outcome = values(part, got, length, known, slack, special, given)
        if isinstance(outcome, Finding) and outcome.name == EIGHT_BITS:
            raise Undecidable(f"{where} {outcome.detail}")
        if isinstance(outcome, Finding):
            return Judged(Finding(outcome.name, f"{where}: {outcome.detail}"))
        errors.append(outcome)
        if outcome.accuracy is Accuracy.REDUCED and lost is None:
            lost = Finding(ACCURACY, f"{where}: {outcome.detail}")
    return Judged(lost, tuple(errors))


def repeated(oracle: Oracle, again: Observation) -> bool:
    """Whether another call of the baseline's answered bit for bit as the first: then nothing is to be judged."""
    if _otherwise_made(oracle.baseline, again) is not None:
        return False
    for (where, part), got in zip(oracle.parts, oracle.answers(again), strict=True):
        if isinstance(part, Scalar):
            if not part.same(got):
                return False
        elif same_form(part.given, got, where) is not None or not same_bits(part.given, got):
            return False
    return True


def _otherwise_made(baseline: Observation, candidate: Observation) -> Finding | None:
    found = structure(baseline.output, candidate.output)
    return found or _changes(baseline, candidate) or _sharing(baseline, candidate)


def _changes(baseline: Observation, candidate: Observation) -> Finding | None:
    extra = candidate.changed_inputs.keys() - baseline.changed_inputs.keys()
    if extra:
        return Finding("inputs-unchanged", f"input {min(extra)} is changed, which the baseline leaves as it is")
    lacking = baseline.changed_inputs.keys() - candidate.changed_inputs.keys()
    if lacking:
        return Finding("inputs-unchanged", f"input {min(lacking)} is left as it is, which the baseline writes to")
    lacking_state = baseline.changed_state.keys() - candidate.changed_state.keys()
    if lacking_state:
        return Finding("state", f"self.{min(lacking_state)} is left as it is, which the baseline updates")
    return None


def _sharing(baseline: Observation, candidate: Observation) -> Finding | None:
    extra = candidate.aliases - baseline.aliases
    if not extra:
        return None
    index, owner = min(extra)
    return Finding("alias", f"output {index} shares its memory with {owner}, the baseline's does not")
