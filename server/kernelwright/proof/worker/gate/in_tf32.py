"""Data of which nothing follows for reduced accuracy: on them the baseline itself is wrong with its products in TF32.

Where large terms cancel and a clamp follows, or a softmax of large scores, rounded operands give another answer, whoever
multiplies them. Who accepts reduced accuracy asks for no better one there.
"""

from collections.abc import Callable

import torch

from kernelwright.proof.worker import flags
from kernelwright.proof.worker.answers.deviation import deviation
from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.judge import Judged
from kernelwright.proof.worker.answers.tolerance import FACTOR
from kernelwright.proof.worker.gate.grounds import Ground
from kernelwright.proof.worker.observe import Observation, observe


def wrong_in_tf32(ground: Ground, answer: Observation, judged: Callable[[Observation], Judged]) -> bool:
    """Whether `judged` finds the baseline in TF32 as wrong as the answer, whose errors are at most FACTOR times as large."""
    settings = flags.read()
    flags.write(flags.in_tf32(settings))
    try:
        rounded = observe(ground.targets.baseline, ground.inputs, seed=ground.variation.seed)
    except Exception:  # noqa: BLE001  (it runs the user's own code)
        return False
    finally:
        flags.write(settings)
    if not judged(rounded).wrong:
        return False
    oracle = ground.oracle
    tensors = zip(oracle.parts, oracle.answers(rounded), oracle.answers(answer), strict=True)
    return all(
        _worst(part, mine) <= FACTOR * _worst(part, theirs)
        for (_, part), theirs, mine in tensors
        if isinstance(part, Expected) and part.baseline.is_floating_point() and part.baseline.numel()
    )


def _worst(part: Expected, got: torch.Tensor) -> float:
    """The largest relative error."""
    return deviation(part.reference, got, part.baseline, part.scale, finite=part.finite).worst
