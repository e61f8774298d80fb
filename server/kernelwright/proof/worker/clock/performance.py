"""The performance case of a trial: the call that is timed, and what the baseline answers to it."""

from dataclasses import dataclass, replace

from kernelwright.proof.worker.bench import Bench, Targets, targets_for
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cases import Variation, plan
from kernelwright.proof.worker.hosts.parcels import room_for
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, observe


@dataclass(frozen=True)
class Performance:
    """The call: its targets and inputs, and what the baseline was `seen` to return."""

    targets: Targets
    inputs: Inputs
    seen: Observation
    seed: int

    @property
    def given_bytes(self) -> int:
        return room_for(self.inputs.tensors())

    @property
    def answered_bytes(self) -> int:
        return room_for(self.seen.tensors())


def performance(bench: Bench) -> Variation:
    """The performance case as it is written, on the first seed."""
    return plan(bench.trial.workload, seeds=1, first_seed=bench.trial.limits.first_seed)[0]


def drawn_anew(bench: Bench, seed: int) -> Inputs:
    """Inputs of the performance case from another seed. Raises JobFailed, NotAccepted."""
    return make_inputs(bench, replace(performance(bench), seed=seed))


def performed(bench: Bench) -> Performance:
    """The call, made once with the baseline. Raises what the baseline raises."""
    variation = performance(bench)
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    return Performance(targets, inputs, observe(targets.baseline, inputs, seed=variation.seed), variation.seed)
