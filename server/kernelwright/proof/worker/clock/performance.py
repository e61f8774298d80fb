"""The performance case of a trial: the call that is timed, and what the baseline answers to it."""

import functools
from dataclasses import dataclass

from kernelwright.proof.worker.answers.fan_in import reduction_length
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cap import cap
from kernelwright.proof.worker.gate.cases import plan
from kernelwright.proof.worker.gate.pinned import workload
from kernelwright.proof.worker.hosts.parcels import room_for
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.reference.fp32 import in_fp32
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.variation import Variation


@dataclass(frozen=True)
class Performance:
    """The call: its targets and inputs, and what the baseline was `seen` to return."""

    targets: Targets
    inputs: Inputs
    seen: Observation
    seed: int

    @functools.cached_property
    def length(self) -> int:
        """See fan_in.reduction_length."""
        return reduction_length(self.targets.baseline, self.inputs, self.seen.tensors())

    def in_fp32(self) -> Observation | None:
        """What the baseline answers without TF32; see Oracle."""
        return in_fp32(self.targets.baseline, self.inputs, seed=self.seed)

    def reference(self) -> Observation | None:
        """What the fp64 twin returns; None where it has no say."""
        original, seed = self.targets.baseline, self.seed
        double = in_fp64(self.targets.double, self.inputs, self.seen, seed=seed, original=original)
        return double if isinstance(double, Observation) else None

    @property
    def given_bytes(self) -> int:
        return room_for(self.inputs.tensors())

    @property
    def answered_bytes(self) -> int:
        return room_for(self.seen.tensors())


def performance(bench: Bench, most_elements: int | None = None) -> Variation:
    """The performance case on the first seed: as it is written, or with at most so many elements in a tensor."""
    first_seed = bench.trial.limits.first_seed
    return plan(workload(bench), seeds=1, first_seed=first_seed, most_elements=most_elements)[0]


def performance_here(bench: Bench) -> Variation:
    """The performance case, made smaller for Triton's interpreter."""
    return performance(bench, cap(bench))


def performed(bench: Bench) -> Performance:
    """The call, made once with the baseline. Raises what the baseline raises."""
    variation = performance(bench)
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    return Performance(targets, inputs, observe(targets.baseline, inputs, seed=variation.seed), variation.seed)
