"""Does an answer last, and does it come again? Further calls on other data, and once more on the first."""

import torch

from kernelwright.proof.worker.arguments import make_inputs
from kernelwright.proof.worker.bench import Bench, Rejected, Targets, targets_for
from kernelwright.proof.worker.cases import Variation
from kernelwright.proof.worker.compare import same_bits
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.judge import judge
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.tolerance import reduction_length
from kernelwright.values import Check


def outputs_stay(bench: Bench, contender: Contender, first: Variation, second: Variation, repetitions: int = 1) -> None:
    """Further calls on other data must not overwrite what the first one returned; the same data give the same answer.

    Raises Rejected, JobFailed.
    """
    targets, a, b = targets_for(bench, first), make_inputs(bench, first), make_inputs(bench, second)
    like = observe(targets.baseline, a, seed=first.seed)
    aliasing = any(owner for _, owner in like.aliases)
    answer: list[torch.Tensor] = []
    words = f"{'two' if repetitions == 1 else 2 * repetitions} calls on the same data and seed agree bit for bit"
    for _ in range(repetitions):
        before, after, again = contender.call_often(targets, a, b, like, case=first.described, seed=first.seed)
        if not aliasing and not _same(before, after):
            detail = "a later call overwrites what the call before returned: the output is a buffer kept between calls"
            raise Rejected(Check("alias", first.described, False, detail))
        answer = answer or [t.clone() for t in before]  # what is returned are views, until the next request
        for other in (before, again):
            if not _same(answer, other):
                words = _not_repeated(bench, targets, a, like, first, answer, other)
    bench.checks.append(Check("determinism", first.described, True, words))


def _not_repeated(
    bench: Bench,
    targets: Targets,
    inputs: Inputs,
    like: Observation,
    first: Variation,
    before: list[torch.Tensor],
    again: list[torch.Tensor],
) -> str:
    """How far two calls are apart, for the verdict. Raises Rejected when the baseline repeats itself and this is far."""
    itself = observe(targets.baseline, inputs, seed=first.seed)
    length = reduction_length(inputs.tensors(), named_state(targets.baseline).values(), like.tensors())
    judged = judge(None, Observation(before), Observation(again), length)
    if judged.finding is not None and _same(like.tensors(), itself.tensors()):
        raise Rejected(
            Check("determinism", first.described, False, f"two calls on the same data: {judged.finding.detail}")
        )
    return f"two calls on the same data and seed differ: {judged.detail if judged.errors else 'like the baseline'}"


def _same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return len(left) == len(right) and all(same_bits(x, y) for x, y in zip(left, right, strict=True))
