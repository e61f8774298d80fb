"""What a call's answers are held against: those of the baseline, and those of the fp64 run where there is one."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch

from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.scalars import Scalar
from kernelwright.proof.worker.inputs import leaves
from kernelwright.proof.worker.observe import Observation


class Oracle:
    """The answers of one call on which candidates' are judged; `reference` is the fp64 run's, None when there is none.

    `masks`: see Expected.
    """

    def __init__(self, reference: Observation | None, baseline: Observation, *, masks: bool = False) -> None:
        self.reference = reference
        self.baseline = baseline
        self._masks = masks

    @cached_property
    def parts(self) -> tuple[tuple[str, Expected | Scalar], ...]:
        """Every output, changed input and changed buffer by name."""
        return tuple((where, _part(double, base, self._masks)) for where, double, base in self._pairs())

    @property
    def own_errors(self) -> list[float | None]:
        """The baseline's largest relative error in each tensor and number, 0 in what is compared exactly, None where nobody
        knows."""
        parts = (part.expected if isinstance(part, Scalar) else part for _, part in self.parts)
        return [_own_error(part) for part in parts if part is not None]

    def _pairs(self) -> Iterator[tuple[str, Any, Any]]:
        reference, baseline = self.reference, self.baseline
        bases = list(leaves(baseline.output, "the output"))
        doubles = [leaf for _, leaf in leaves(reference.output)] if reference is not None else []
        if len(doubles) != len(bases):
            doubles = [None] * len(bases)
        for (where, base), double in zip(bases, doubles, strict=True):
            yield where, double, base
        for index, base in baseline.changed_inputs.items():
            yield f"input {index} after the call", reference and reference.changed_inputs.get(index), base
        for name, base in baseline.changed_state.items():
            yield f"self.{name} after the call", reference and reference.changed_state.get(name), base

    def answers(self, of: Observation) -> list[Any]:
        """What the call `of` another text has in the place of each part; it must have the baseline's structure."""
        changed = [of.changed_inputs[index] for index in self.baseline.changed_inputs]
        changed += [of.changed_state[name] for name in self.baseline.changed_state]
        return [*(leaf for _, leaf in leaves(of.output)), *changed]


def _part(double: Any, base: Any, masks: bool) -> Expected | Scalar:
    if not isinstance(base, torch.Tensor):
        return Scalar(base, double)
    fits = isinstance(double, torch.Tensor) and double.shape == base.shape
    return Expected(double if fits else None, base, masks=masks)


def _own_error(part: Expected) -> float | None:
    if not part.baseline.is_floating_point() or part.baseline.numel() == 0:
        return 0.0
    return None if part.own is None else part.own.worst
