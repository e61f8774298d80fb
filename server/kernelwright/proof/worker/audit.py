"""What a timed call returned is compared with the baseline on the same data: on some rounds, which nobody can foresee.

The data of every sample differ from all before in a few elements, drawn from the tensor's own values, so that an answer kept
from an earlier call is a wrong answer.
"""

import random
import secrets

import torch

from kernelwright.proof.worker.bench import Bench, Rejected, Report, Targets
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs, clone
from kernelwright.proof.worker.judge import Judged, judge
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.reference import in_fp64
from kernelwright.proof.worker.tolerance import reduction_length
from kernelwright.values import Check

AUDITS = 3
_SALTED = 64  # elements of each tensor that change between two samples


class Auditor:
    """The data of the timed calls, and the comparisons of their outputs."""

    def __init__(self, bench: Bench, targets: Targets, inputs: Inputs, seen: Observation) -> None:
        self._bench = bench
        self._targets = targets
        self._inputs = Inputs(clone(inputs.args), clone(inputs.kwargs))
        self._wanted: frozenset[int] = frozenset()
        self._judged: list[Judged] = []
        # Nobody can know these numbers beforehand, not even from the texts of this package.
        self._generator = torch.Generator().manual_seed(secrets.randbits(60))
        self._length = reduction_length(inputs.tensors(), named_state(targets.baseline).values(), seen.tensors())
        # What the gate has seen of the baseline's rounding saves an fp64 run, which may take seconds, for each audit.
        self._known = max((j.own for j in bench.judged if j.own is not None), default=0.0)
        self.seen = seen
        self.seed = bench.trial.limits.first_seed
        self._salts = self._accepts_salt()

    @property
    def described(self) -> str:
        if self._salts:
            return "other data and addresses for each sample"
        return "other addresses for each sample, the same data: the baseline does not take changed values"

    def next_inputs(self) -> Inputs:
        """The inputs of the next sample; the same tensors, changed in place."""
        if self._salts:
            self._salt()
        return self._inputs

    def choose(self, rounds: int, generator: random.Random) -> None:
        """Draw the rounds that are audited, the last of which nobody can know to be the last."""
        self._wanted = frozenset(generator.sample(range(rounds), min(AUDITS, rounds)))

    def wants(self, number: int) -> bool:
        return number in self._wanted

    def audit(self, contender: Contender, case: str, *, fp64: bool = False) -> None:
        """Compare what the last sample returned; with `fp64` against a reference of its own. Raises Rejected."""
        expected = observe(self._targets.baseline, self._inputs, seed=self.seed)
        observed = contender.collect(self._inputs, expected)
        outputs = Observation(expected.output, expected.changed_inputs)
        reference = self._reference(expected) if fp64 or not self._known else None
        found = Observation(observed.output, observed.changed_inputs)
        judged = judge(reference, outputs, found, self._length, known=self._known)
        if judged.finding is not None:
            raise Rejected(Check("recheck-after-timing", case, False, f"a timed call: {judged.finding.detail}"))
        self._judged.append(judged)

    def check_last(self, contender: Contender, report: Report) -> None:
        """After the clock has stopped: a call on new data, and one on new data in the very memory of that call."""
        report("Checking the timed results")
        for case, reuse in (("after timing", False), ("after timing, in the same memory", True)):
            contender.arm(self._targets, self.next_inputs(), self.seen, seed=self.seed, batch=1, reuse=reuse)
            contender.fire()
            self.audit(contender, case, fp64=reuse)

    def checks(self) -> list[Check]:
        detail = f"{len(self._judged)} timed calls compared, {self.described}; {self._judged[-1].detail}"
        return [Check("recheck-after-timing", "while timing", True, detail)]

    def _reference(self, expected: Observation) -> Observation | None:
        double = in_fp64(self._targets.double, self._inputs, expected, seed=self.seed)
        return Observation(double.output, double.changed_inputs) if isinstance(double, Observation) else None

    def _accepts_salt(self) -> bool:
        """Whether the baseline still runs once a few values have changed places, and floating data are there to change."""
        if not any(t.is_floating_point() and t.numel() > 1 for t in self._inputs.tensors()):
            return False
        before = clone((self._inputs.args, self._inputs.kwargs))
        try:
            self._salt()
            observe(self._targets.baseline, self._inputs, seed=self.seed)
        except Exception:  # noqa: BLE001  (user code on changed data raises anything)
            self._inputs = Inputs(*before)
            return False
        return True

    def _salt(self) -> None:
        with torch.no_grad():
            for tensor in self._inputs.tensors():
                if not tensor.is_floating_point() or tensor.numel() < 2 or 0 in tensor.stride():
                    continue
                count = min(_SALTED, tensor.numel())
                places = [
                    torch.randint(0, size, (2, count), generator=self._generator).to(tensor.device)
                    for size in tensor.shape
                ]
                to, source = tuple(p[0] for p in places), tuple(p[1] for p in places)
                tensor.index_put_(to, tensor[source])
