"""What a timed call returned is compared with the baseline on the same data: on some rounds, which nobody can foresee."""

import itertools
import random

from kernelwright.proof.worker.answers.judge import Judged, judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import reduction_length
from kernelwright.proof.worker.bench import Bench, NotAccepted, Rejected, Targets
from kernelwright.proof.worker.clock.fresh import FreshData
from kernelwright.proof.worker.clock.late import Late
from kernelwright.proof.worker.clock.performance import drawn_anew
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.hosts.messages import Observed, Sampled
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.reference.ties import ties_apart
from kernelwright.proof.worker.reference.unrounded import judged_unrounded
from kernelwright.values import Check

AUDITS = 3  # at least, of the timed rounds
_BLENDED = 4  # draws, where no other data are taken
# Rounds of which one is audited: the first AUDITS times, and afterwards; more rounds, so that there are not too many audits.
_EARLY, _STRETCH, _MOST_AUDITS = 6, 13, 8


def audited(rounds: int, generator: random.Random) -> frozenset[int]:
    """One round of each stretch of them, drawn by chance, so that a run that ends early has had enough of them."""
    early = min(_EARLY, -(-rounds // AUDITS))
    stretch = max(_STRETCH, -(-(rounds - AUDITS * early) // (_MOST_AUDITS - AUDITS)))
    starts = [*range(0, min(AUDITS * early, rounds), early), *range(AUDITS * early, rounds, stretch), rounds]
    return frozenset(itertools.starmap(generator.randrange, itertools.pairwise(starts)))


class Auditor:
    """The data of the timed calls, and the comparisons of their outputs."""

    def __init__(
        self, bench: Bench, targets: Targets, inputs: Inputs, seen: Observation, *, pools: bool = True
    ) -> None:
        self._bench = bench
        self._targets = targets
        self._wanted: frozenset[int] = frozenset()
        self._judged: list[Judged] = []
        self._copies = 1
        self._doubted = False
        self._length = reduction_length(inputs.tensors(), named_state(targets.baseline).values(), seen.tensors())
        # What the gate has seen of the baseline's rounding saves an fp64 run, which may take seconds, for each audit.
        self._known = max((j.own for j in bench.judged if j.own is not None), default=0.0)
        self.seen = seen
        # Nobody can know these numbers beforehand, not even from the texts of this package.
        self._random = random.SystemRandom()
        self._fresh = FreshData(inputs, self._random, pools=pools)
        self._draw_seed()
        self._try_fresh_data(inputs)

    @property
    def inputs(self) -> Inputs:
        """Those of the last sample."""
        return self._fresh.inputs

    def next_inputs(self, copies: int = 1) -> Inputs:
        """The inputs of the next sample, and its seed; the same tensors, changed in place. It will have so many `copies`."""
        self._copies = copies
        self._draw_seed()
        return self._fresh.draw()

    @property
    def late(self) -> tuple[Late, ...]:
        """What changes of them once more when the sample is taken."""
        return self._fresh.late

    def choose(self, rounds: int, generator: random.Random) -> None:
        """Draw the rounds that are audited."""
        self._wanted = audited(rounds, generator)

    def wants(self, number: int) -> bool:
        return number in self._wanted

    def enough(self, rounds: int) -> bool:
        """Whether as many of the first `rounds` are audited as must be."""
        return sum(number < rounds for number in self._wanted) >= AUDITS

    def audit(self, contender: Contender, sampled: Sampled, case: str, *, batch: int = 1, fp64: bool = False) -> None:
        """Compare what the last of a sample's calls returned, and another one of several; with `fp64` against a reference of
        its own. Raises Rejected."""
        self._compare(contender, sampled.left, case, calls=batch, fp64=fp64)
        if batch > 1:
            if sampled.other is None or not 0 < sampled.which < batch:
                detail = "the process does not tell what another call of the sample returned"
                raise Rejected(Check("recheck-after-timing", case, False, detail))
            self._compare(contender, sampled.other, f"{case}, call {sampled.which}", calls=sampled.which, fp64=False)

    def _compare(self, contender: Contender, told: Observed, case: str, *, calls: int, fp64: bool) -> None:
        self._fresh.show(self.seed, (calls - 1) % self._copies, self._copies)
        observed = contender.left(told, self.inputs, self.seen)
        expected = observe(self._targets.baseline, self.inputs, seed=self.seed, calls=calls)
        outputs = Observation(expected.output, expected.changed_inputs)
        text, target = self._bench.trial.baseline, self._targets.baseline
        observed, _ = ties_apart(text, target, self.inputs, outputs, observed, seed=self.seed)
        reference = self._reference(expected) if fp64 or not self._known else None
        compare = lambda oracle: judge(oracle, observed, self._length, known=self._known)
        judged = compare(Oracle(reference, outputs))
        if calls == 1:
            given = self._bench, self._targets, self.inputs, outputs
            judged, _ = judged_unrounded(*given, judged, compare, seed=self.seed)
        if judged.finding is not None and not (judged.reduced and self._bench.trial.limits.accept_reduced):
            # Of few elements, as of one sum, some data all but cancel, and all roundings look large beside what is left, or the
            # baseline's happen to be small: that has to come twice.
            if judged.reduced and judged.few and not self._doubted:
                self._doubted = True
                return
            raise Rejected(Check("recheck-after-timing", case, False, f"a timed call: {judged.finding.detail}"))
        self._judged.append(judged)

    def check_last(self, contender: Contender) -> None:
        """After the clock has stopped: a call on new data, and one in that call's very memory."""
        for case, reuse in (("after timing", False), ("after timing, in the same memory", True)):
            inputs = self.next_inputs()
            contender.arm(self._targets, inputs, self.seen, seed=self.seed, late=self.late, batch=1, reuse=reuse)
            self.audit(contender, contender.fire(), case, fp64=reuse)

    def checks(self) -> list[Check]:
        detail = f"{len(self._judged)} timed calls compared, {self.described}; {self._judged[-1].detail}"
        return [Check("recheck-after-timing", "while timing", True, detail)]

    @property
    def described(self) -> str:
        return self._fresh.described

    def _reference(self, expected: Observation) -> Observation | None:
        original = self._targets.baseline
        double = in_fp64(self._targets.double, self.inputs, expected, seed=self.seed, original=original)
        return Observation(double.output, double.changed_inputs) if isinstance(double, Observation) else None

    def _draw_seed(self) -> None:
        """Random numbers that an earlier call has drawn are of no use in the next."""
        self.seed = self._random.getrandbits(31)

    def _try_fresh_data(self, inputs: Inputs) -> None:
        """A baseline that does not run on changed values, as on a matrix that must be positive definite, gets blends of
        several draws, or keeps its own.
        """
        fresh = self._fresh
        if self._takes_fresh_data() or (fresh.keep_whole_numbers(inputs) and self._takes_fresh_data()):
            return
        if not (fresh.blend(self._draws(inputs)) and self._takes_fresh_data()):
            fresh.freeze(inputs)

    def _draws(self, inputs: Inputs) -> list[Inputs]:
        """The call's own inputs, and those of other seeds, where they can be made."""
        try:
            return [inputs, *(drawn_anew(self._bench, self._random.getrandbits(31)) for _ in range(_BLENDED - 1))]
        except (JobFailed, NotAccepted):
            return [inputs]

    def _takes_fresh_data(self) -> bool:
        try:
            self._fresh.draw()
            self._fresh.show(self.seed, 0, 1)
            found = observe(self._targets.baseline, self._fresh.inputs, seed=self.seed)
        except Exception:  # noqa: BLE001  (user code on changed data raises anything)
            return False
        return [t.shape for t in found.tensors()] == [t.shape for t in self.seen.tensors()]
