"""Data of which nothing follows for reduced accuracy: on them the baseline itself is wrong with its products in TF32.

Where large terms cancel and a clamp follows, or a softmax of large scores, rounded operands give another answer, whoever
multiplies them. Who accepts reduced accuracy asks for no better one there.
"""

from collections.abc import Callable
from typing import Any

import torch

from kernelwright.proof.worker import flags
from kernelwright.proof.worker.answers.deviation import deviation
from kernelwright.proof.worker.answers.expected import Expected, real
from kernelwright.proof.worker.answers.judge import Judged
from kernelwright.proof.worker.answers.scalars import Scalar
from kernelwright.proof.worker.answers.tolerance import FACTOR
from kernelwright.proof.worker.gate.grounds import Ground
from kernelwright.proof.worker.observe import Observation, observe


def wrong_in_tf32(ground: Ground, answer: Observation, judged: Callable[[Observation], Judged]) -> bool:
    """Whether `judged` finds the baseline in TF32 wrong, too, and the answer is at most FACTOR times as far off.

    What is compared exactly, such as indices, has to be right in the answer all the same.
    """
    with flags.changed_to(flags.in_tf32):
        try:
            rounded = observe(ground.targets.baseline, ground.inputs, seed=ground.variation.seed)
        except Exception:  # noqa: BLE001  (it runs the user's own code)
            return False
    if not judged(rounded).wrong:
        return False
    oracle = ground.oracle
    answers = zip(oracle.parts, oracle.answers(rounded), oracle.answers(answer), strict=True)
    return all(_no_further_off(part, theirs, mine) for (_, part), theirs, mine in answers)


def _no_further_off(part: Expected | Scalar, rounded: Any, answer: Any) -> bool:
    if isinstance(part, Scalar):
        return part.same(answer)
    if not part.baseline.is_floating_point():
        return torch.equal(part.baseline, real(answer))
    return not part.baseline.numel() or _worst(part, real(answer)) <= FACTOR * _worst(part, real(rounded))


def _worst(part: Expected, got: torch.Tensor) -> float:
    """The largest relative error."""
    return deviation(part.reference, got, part.baseline, part.scale, finite=part.finite).worst
