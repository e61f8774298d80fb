"""What the baseline answers, and whether anything follows from it for a candidate."""

import contextlib
import functools
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from kernelwright.proof.worker import patience
from kernelwright.proof.worker.answers.deviation import all_finite
from kernelwright.proof.worker.answers.fan_in import fan_in, reduction_length
from kernelwright.proof.worker.answers.judge import judge, repeated
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.dispatch import SizesAsGiven
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.line_sizes import without_shifts
from kernelwright.proof.worker.gate.nonfinite import agree
from kernelwright.proof.worker.gate.properties import (
    LARGE,
    LARGE_WHOLE_NUMBERS,
    MASKED_ROWS,
    NON_FINITE,
    OVERFLOWING,
    SIGNED_ZEROS,
    SLOPES,
    VIEWS,
    WHOLE_NUMBERS,
)
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.interpreter import rounds
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.raised import failure_of
from kernelwright.proof.worker.reference.fp32 import in_fp32
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.rejected import NotAccepted, Undecidable
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import FailureKind

_WORKLOAD = FailureKind.WORKLOAD_FAILED
_PROBABILITIES = re.compile(r"\b(multinomial|bernoulli|poisson|BCELoss|binary_cross_entropy(?!_with_logits))\b")
_INDICES = re.compile(r"\.(long|int)\(|\b(to|type)\([^)]{0,200}torch\.(long|int|int32|int64)\b")  # int8 is no index
_LARGE_NEGATIVE = re.compile(r"-\s?(?:\d{5}|\d[\d.]{0,8}[eE]\+?(?:[4-9]|\d\d))")
_ILL_CONDITIONED = 0.004  # relative error of the baseline itself; TF32 has half of it


@dataclass(frozen=True)
class Ground:
    """What the candidate's answer to one call is held against.

    `double`: the fp64 run, or why there is none, in words. `length`: terms summed for an element, as far as shapes tell.
    """

    variation: Variation
    targets: Targets
    inputs: Inputs
    baseline: Observation
    double: Observation | str
    length: int

    @property
    def reference(self) -> Observation | None:
        return self.double if isinstance(self.double, Observation) else None

    @property
    def bytes(self) -> int:
        """Of all its tensors."""
        tensors = [
            *self.inputs.tensors(),
            *self.baseline.tensors(),
            *(self.reference.tensors() if self.reference else ()),
        ]
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    @property
    def special(self) -> bool:
        return bool(self.variation.data) or self.variation.finite

    @cached_property
    def oracle(self) -> Oracle:
        plain = functools.partial(in_fp32, self.targets.baseline, self.inputs, seed=self.variation.seed)
        # Special data are huge in many places themselves.
        return Oracle(self.reference, self.baseline, masks=not self.variation.data, in_fp32=plain)

    @cached_property
    def terms(self) -> int:
        """Terms summed for an element, as the baseline shows them."""
        target, seed = self.targets.baseline, self.variation.seed
        return fan_in(target, self.inputs, self.baseline, seed=seed, estimate=self.length)


def grounds(bench: Bench, variation: Variation, targets: Targets, inputs: Inputs) -> Ground:
    """The baseline's answers. Raises NotAccepted where they tell nothing about a candidate's."""
    baseline = baseline_run(bench, variation, targets.baseline, inputs)
    length = reduction_length(targets.baseline, inputs, baseline.tensors())
    double = in_fp64(targets.double, inputs, baseline, seed=variation.seed, original=targets.baseline)
    ground = Ground(variation, targets, inputs, baseline, double, length)
    if patience.over() or tells_nothing(variation, ground.oracle):
        raise NotAccepted
    if variation.data in VIEWS:
        _takes_views(ground)
    if variation.poisoned:
        _repeats(bench, ground)
    # With other numbers the baseline may draw by chance, as dropout does, which no kernel repeats.
    if variation.numbers and not repeated(ground.oracle, _called(variation, targets.baseline, inputs, more=1)):
        raise NotAccepted
    return ground


def stops_the_gpu(variation: Variation, text: str) -> bool:
    """Whether the baseline's operators may assert on the device with this data: the judge's own CUDA context would be gone.

    Probabilities out of range do it, and NaN or large numbers that become indices.
    """
    if not variation.data and variation.scale == 1.0 and not variation.numbers:
        return False
    indices = variation.data in NON_FINITE or variation.data in LARGE
    return bool(_PROBABILITIES.search(text) or (indices and _INDICES.search(text)))


def baseline_run(bench: Bench, variation: Variation, target: Any, inputs: Inputs) -> Observation:
    """The baseline's call. Raises JobFailed, Undecidable, and NotAccepted where a derived case tells nothing."""
    with SizesAsGiven() if variation.data == LARGE_WHOLE_NUMBERS else contextlib.nullcontext():
        written = {without_shifts(case.text) for case in bench.trial.workload.cases}
        reduced = variation.call is not None and without_shifts(variation.label) not in written
        on = (
            f"{variation.label}, its workload made smaller for {bench.language.emulator}"
            if reduced
            else "its own workload"
        )
        observed = _called(variation, target, inputs, f"The baseline fails on {on}:", watched=True)
    for tensor in (*observed.tensors(), *observed.changed_inputs.values(), *observed.changed_state.values()):
        _comparable(tensor)
    empty = not any(t.numel() for t in observed.results()) and not observed.changed_inputs
    infinite = variation.finite and not all(all_finite(t) for t in observed.results())
    if variation.derived and ((empty and not variation.empty) or infinite):
        raise NotAccepted
    return observed


def _comparable(tensor: torch.Tensor) -> None:
    """Raises Undecidable for a result that no comparison here could tell from a wrong one."""
    if tensor.layout is not torch.strided:
        name = str(tensor.layout).removeprefix("torch.")
        raise Undecidable(f"The baseline's result has the layout {name}, which is not compared: make it a dense one.")


def tells_nothing(variation: Variation, oracle: Oracle) -> bool:
    """Whether derived data make the baseline return little more than rounding errors, as a norm of equal values does.

    Without an fp64 run nobody knows, apart from slopes, which do not cancel, and views of random numbers or other whole
    numbers beside them. Where NaN or
    infinities were planted, the fp64 run must have those of the output at the same places.
    """
    reference, baseline = oracle.reference, oracle.baseline
    answers = (*baseline.results(), *baseline.changed_inputs.values())
    floats = [t for t in answers if t.is_floating_point()]
    if variation.data == OVERFLOWING and len(floats) < len(answers):
        return True  # which of two infinities is larger
    shows = any(t.is_floating_point() or t.is_complex() for t in answers)  # whole numbers have no NaN
    if variation.data in NON_FINITE and not shows:
        return True
    if variation.data in NON_FINITE | SIGNED_ZEROS and (reference is None or not agree(reference, baseline)):
        return True
    if not variation.derived or variation.empty or not floats or any(t.dtype == torch.float64 for t in floats):
        return False
    if not variation.data and all(bool(t.isnan().all()) for t in floats):
        return True  # a correlation of one element each
    if reference is None:
        return variation.data not in ("", SLOPES, WHOLE_NUMBERS, MASKED_ROWS, LARGE_WHOLE_NUMBERS, *VIEWS)
    owns = [own for own in oracle.own_errors if own is not None]
    if len(owns) < len(oracle.own_errors) or all(
        not bool(t.any()) for t in (*reference.results(), *reference.changed_inputs.values())
    ):
        return True
    return bool(variation.data) and max(owns, default=0.0) > _ILL_CONDITIONED


def _called(
    variation: Variation, target: Any, inputs: Inputs, doing: str = "", *, more: int = 0, **how: bool
) -> Observation:
    """The baseline's call, `more` on top of the seed. Where it raises, NotAccepted of a derived case, else JobFailed."""
    try:
        return observe(target, inputs, seed=variation.seed + more, **how)
    except Exception as error:
        raise NotAccepted if variation.derived else JobFailed(failure_of(error, doing, _WORKLOAD)) from error


def _takes_views(ground: Ground) -> None:
    """A baseline that reads views as if they were contiguous returns something else on the same values laid out plainly."""
    plain = ground.inputs.changed(torch.Tensor.contiguous)
    expected = _called(ground.variation, ground.targets.baseline, plain)
    if judge(Oracle(None, expected), ground.baseline, ground.length, any_layout=True).finding is not None:
        raise NotAccepted


def _repeats(bench: Bench, ground: Ground) -> None:
    """The baseline must agree with itself, on poisoned allocations too; else there is nothing to compare with."""
    _agrees(ground, _again(bench, ground))
    if not ground.variation.derived:
        repeats_when_tuned(bench, ground)


def repeats_when_tuned(bench: Bench, ground: Ground) -> None:
    """The baseline must agree with itself with other configurations of a tuned kernel, of which the interpreter takes any.

    A launch may have too few programs for some of them. Raises Undecidable, and NotAccepted for a derived case.
    """
    for _ in rounds.others():
        _agrees(ground, _again(bench, ground))


def _again(bench: Bench, ground: Ground) -> Observation:
    doing, poisoned = "The baseline fails when it is called again:", not bench.language.compiles(bench.trial.baseline)
    return _called(ground.variation, ground.targets.baseline, ground.inputs, doing, poisoned=poisoned)


def _agrees(ground: Ground, again: Observation) -> None:
    """Raises NotAccepted for a derived case, else Undecidable, where another call came to something else."""
    if repeated(ground.oracle, again):
        return
    judged = judge(ground.oracle, again, ground.length)
    if judged.finding is None:
        return
    if ground.variation.derived:
        raise NotAccepted
    raise Undecidable(
        "The baseline does not repeat itself on the same inputs and seed, or returns memory that it never wrote: "
        f"{judged.finding.detail}. Nothing can be verified against it."
    )


def masks_with_a_number(text: str) -> bool:
    """Whether a text has a number such as -1e9 where -inf is meant: beside larger numbers what is masked is what counts."""
    return bool(_LARGE_NEGATIVE.search(text))
