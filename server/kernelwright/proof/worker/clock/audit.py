"""What a timed call returned is compared with the baseline on the same data: on some rounds, which nobody can foresee."""

import itertools
import random
from dataclasses import replace

from kernelwright.proof.worker.answers.judge import Judged, judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.clock.fresh import FreshData
from kernelwright.proof.worker.clock.performance import Performance, performance
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.unrounded import judged_unrounded
from kernelwright.proof.worker.hosts.messages import Observed, Sampled
from kernelwright.proof.worker.hosts.timed import TimedContender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.reference.ties import ties_apart
from kernelwright.proof.worker.rejected import NotAccepted, Rejected
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
    """The data of the timed calls (`fresh`), and the comparisons of their outputs."""

    def __init__(self, bench: Bench, case: Performance, *, pools: bool = True) -> None:
        self._bench = bench
        self.case = case
        self._judged: list[Judged] = []
        self._copies = 1
        self._doubted = False
        # What the gate has seen of the baseline's rounding saves an fp64 run, which may take seconds, for each audit.
        self._known = bench.evidence.own_error
        # Nobody can know these numbers beforehand, not even from the texts of this package.
        self._random = random.SystemRandom()
        self.fresh = FreshData(case.inputs, self._random, pools=pools)
        # Anew for each call: random numbers that an earlier one drew are of no use.
        self.seed = self._random.getrandbits(31)
        self._try_fresh_data(case.inputs)

    def next_inputs(self, copies: int = 1) -> Inputs:
        """The inputs of the next sample, and its seed; the same tensors, changed in place. It will have so many `copies`."""
        self._copies = copies
        self.seed = self._random.getrandbits(31)
        return self.fresh.draw()

    def audit(
        self, contender: TimedContender, sampled: Sampled, case: str, *, batch: int = 1, fp64: bool = False
    ) -> None:
        """Compare what the last of a sample's calls returned, and another one of several; with `fp64` against a reference of
        its own. Raises Rejected."""
        self._compare(contender, sampled.left, case, calls=batch, fp64=fp64)
        if batch > 1:
            if sampled.other is None or not 0 < sampled.which < batch:
                detail = "the process does not tell what another call of the sample returned"
                raise Rejected("recheck-after-timing", case, detail)
            self._compare(contender, sampled.other, f"{case}, call {sampled.which}", calls=sampled.which, fp64=False)

    def _compare(self, contender: TimedContender, told: Observed, case: str, *, calls: int, fp64: bool) -> None:
        self.fresh.show(self.seed, (calls - 1) % self._copies, self._copies)
        observed = contender.left(told, self.fresh.inputs, self.case.seen)
        expected = self._expected(calls)
        outputs = Observation(expected.output, expected.changed_inputs)
        text, target = self._bench.trial.baseline, self.case.targets.baseline
        observed, _ = ties_apart(text, target, self.fresh.inputs, outputs, observed, seed=self.seed)
        follows = calls > 1 and bool(self.case.seen.changed_state)  # from calls that the fp64 run does not make
        now = Performance(self.case.targets, self.fresh.inputs, expected, self.seed)
        reference = now.reference() if (fp64 or not self._known) and not follows else None
        compare = lambda oracle: judge(oracle, observed, self.case.length, known=self._known)
        judged = compare(Oracle(reference, outputs, in_fp32=now.in_fp32))
        if calls == 1:
            given = self._bench, self.case.targets, self.fresh.inputs, outputs
            judged, _ = judged_unrounded(*given, judged, compare, seed=self.seed)
        if judged.finding is not None and not (judged.reduced and self._bench.trial.limits.accept_reduced):
            # Of few elements, as of one sum, some data all but cancel, and all roundings look large beside what is left, or the
            # baseline's happen to be small: that has to come twice.
            if judged.reduced and judged.few and not self._doubted:
                self._doubted = True
                return
            raise Rejected("recheck-after-timing", case, f"a timed call: {judged.finding.detail}")
        self._judged.append(judged)

    def _expected(self, calls: int) -> Observation:
        """What the last of so many calls of a sample answers; where they move a state on, those before it are made as there."""
        target = self.case.targets.baseline
        if calls == 1 or not self.case.seen.changed_state:
            return observe(target, self.fresh.inputs, seed=self.seed, calls=calls)

        def shown(number: int) -> Inputs:
            self.fresh.show(self.seed, (number - 1) % self._copies, self._copies)
            return self.fresh.inputs.copied()

        expected = observe(target, shown(calls), seed=self.seed, calls=calls, earlier=shown)
        shown(calls)
        return expected

    def check_last(self, contender: TimedContender) -> None:
        """After the clock has stopped: a call on new data, and one in that call's very memory."""
        for case, reuse in (("after timing", False), ("after timing, in the same memory", True)):
            inputs = self.next_inputs()
            contender.arm(
                self.case.targets, inputs, self.case.seen, seed=self.seed, late=self.fresh.late, batch=1, reuse=reuse
            )
            self.audit(contender, contender.fire(), case, fp64=reuse)

    def checks(self) -> list[Check]:
        detail = f"{len(self._judged)} timed calls compared, {self.fresh.described}; {self._judged[-1].detail}"
        return [Check("recheck-after-timing", "while timing", True, detail)]

    def _try_fresh_data(self, inputs: Inputs) -> None:
        """A baseline that does not run on changed values, as on a matrix that must be positive definite, gets blends of
        several draws, or keeps its own.
        """
        fresh = self.fresh
        if self._takes_fresh_data() or (fresh.keep_whole_numbers(inputs) and self._takes_fresh_data()):
            return
        if not (fresh.blend(self._draws(inputs)) and self._takes_fresh_data()):
            fresh.freeze(inputs)

    def _draws(self, inputs: Inputs) -> list[Inputs]:
        """The call's own inputs, and those of other seeds, where they can be made."""
        case, seeds = performance(self._bench), (self._random.getrandbits(31) for _ in range(_BLENDED - 1))
        try:
            return [inputs, *(make_inputs(self._bench, replace(case, seed=seed)) for seed in seeds)]
        except (JobFailed, NotAccepted):
            return [inputs]

    def _takes_fresh_data(self) -> bool:
        try:
            self.fresh.draw()
            self.fresh.show(self.seed, 0, 1)
            found = observe(self.case.targets.baseline, self.fresh.inputs, seed=self.seed)
        except Exception:  # noqa: BLE001  (user code on changed data raises anything)
            return False
        return [t.shape for t in found.tensors()] == [t.shape for t in self.case.seen.tensors()]
