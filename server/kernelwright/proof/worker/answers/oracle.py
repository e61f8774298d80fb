"""What a call's answers are held against: those of the baseline, and those of the fp64 run where there is one."""

import functools
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import torch

from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.scalars import Scalar
from kernelwright.proof.worker.inputs import leaves
from kernelwright.proof.worker.observe import Observation


class Oracle:
    """The answers of one call on which candidates' are judged; `reference` is the fp64 run's, None when there is none.

    `masks`: see Expected. `in_fp32` makes the baseline's call without TF32; None where nothing is known of that.
    """

    def __init__(
        self,
        reference: Observation | None,
        baseline: Observation,
        *,
        masks: bool = False,
        in_fp32: Callable[[], Observation | None] = lambda: None,
    ) -> None:
        self.reference = reference
        self.baseline = baseline
        self._masks = masks
        self._in_fp32 = in_fp32

    @cached_property
    def parts(self) -> tuple[tuple[str, Expected | Scalar], ...]:
        """Every output, changed input and changed buffer by name."""
        explained = lambda where: functools.partial(self._is_explained, where)
        return tuple(
            (where, _part(double, base, masks=self._masks, explained=explained(where)))
            for where, double, base in self._pairs()
        )

    @property
    def explained(self) -> bool:
        """Whether rounding explains all that keeps the baseline from the fp64 run; see `_is_explained`."""
        parts = ((where, part) for where, part in self.parts if isinstance(part, Expected) and _counts(part))
        return all(part.own_error is not None or self._is_explained(where) for where, part in parts)

    def _is_explained(self, where: str) -> bool:
        """Whether without TF32 this part agrees with the fp64 run, or its terms cancel and another part agrees.

        TF32 in fifty layers one after another may come to more than can be told from another function, and the mean that one
        batch norm takes of another's result is nothing but rounding errors.
        """
        part = self._without_tf32.get(where)
        if part is None:
            return False
        return part.own is not None or (part.cancelled and any(o.own is not None for o in self._without_tf32.values()))

    @cached_property
    def _without_tf32(self) -> dict[str, Expected]:
        """The floating-point parts of the baseline's call in fp32 throughout, by name; none where there is no such call."""
        plain = None if self.reference is None else self._in_fp32()
        parts = () if plain is None else Oracle(self.reference, plain).parts
        return {where: part for where, part in parts if isinstance(part, Expected) and _counts(part)}

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


def _part(double: Any, base: Any, **how: Any) -> Expected | Scalar:
    if not isinstance(base, torch.Tensor):
        return Scalar(base, double)
    fits = isinstance(double, torch.Tensor) and double.shape == base.shape
    return Expected(double if fits else None, base, **how)


def _counts(part: Expected) -> bool:
    return part.baseline.is_floating_point() and part.baseline.numel() > 0


def _own_error(part: Expected) -> float | None:
    return part.own_error if _counts(part) else 0.0
