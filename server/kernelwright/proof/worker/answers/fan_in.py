"""On how many inputs one output element depends: from shapes alone, or measured on the baseline, in whatever it is written."""

from collections.abc import Iterable
from typing import Any

import torch

from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, named_state, observe

_PROBES = 2  # elements of each tensor
_MOST_TENSORS = 4


def reduction_length(target: Any, inputs: Inputs, outputs: Iterable[torch.Tensor]) -> int:
    """An upper estimate of the terms that `target` (None: something without parameters) sums per output element, from shapes.

    The longest dimension of any input, the fan-in of a weight, or the inputs per output element, whichever is largest.
    """
    given, parameters = inputs.tensors(), named_state(target).values()
    longest = max((size for t in given for size in t.shape), default=1)
    of_weights = max((t.numel() // t.shape[0] for t in parameters if t.dim() >= 2 and t.shape[0]), default=1)
    produced = max((t.numel() for t in outputs), default=1)
    consumed = max((t.numel() for t in given), default=1)
    return max(longest, of_weights, consumed // max(produced, 1), 1)


def fan_in(target: Any, inputs: Inputs, before: Observation, *, seed: int, estimate: int) -> int:
    """The terms that are summed per output element, at most `estimate`: one input element is changed at a time.

    An input of N elements, one of which changes C of M outputs, is read N * C / M times per output. `estimate` is what
    is known from shapes (reduction_length); it stands where no floating input can be changed. A baseline that
    draws other random numbers in each call changes everywhere, which makes the answer larger, never smaller.
    """
    produced = sum(t.numel() for t in _parts(before).values())
    numbers = [n for n, t in enumerate(inputs.tensors()) if t.is_floating_point() and t.numel()][:_MOST_TENSORS]
    if not numbers or not produced:
        return estimate
    most = 1
    for number in numbers:
        size = inputs.tensors()[number].numel()
        for probe in range(_PROBES):
            try:
                after = observe(target, _changed(inputs, number, probe), seed=seed)
            except Exception:  # noqa: BLE001  (user code on changed data raises anything)
                return estimate
            most = max(most, -(-size * _differing(before, after) // produced))
    return min(most, estimate)


def _changed(inputs: Inputs, number: int, probe: int) -> Inputs:
    """One element of one tensor made the largest of all, with either sign, so that a maximum or a relu lets it pass."""
    given = inputs.copied()
    tensor = given.tensors()[number]
    generator = torch.Generator().manual_seed(probe)
    at = tuple(int(torch.randint(size, (1,), generator=generator)) for size in tensor.shape)
    finite = torch.where(torch.isfinite(tensor), tensor.abs(), 0.0)
    with torch.no_grad():
        tensor[at] = (2 if probe % 2 == 0 else -2) * (finite.max() + 1e-3)
    return given


def _parts(observed: Observation) -> dict[Any, torch.Tensor]:
    """What a call returned and wrote to, by place."""
    outputs, inputs = enumerate(observed.results()), observed.changed_inputs.items()
    return {("output", i): t for i, t in outputs} | {("input", i): t for i, t in inputs} | dict(observed.changed_state)


def _differing(before: Observation, after: Observation) -> int:
    """How many elements of the outputs and of what both calls wrote to differ."""
    old, new = _parts(before), _parts(after)
    pairs = [(old[place], new[place]) for place in old.keys() & new.keys()]
    return sum(int(((x != y) & ~((x != x) & (y != y))).sum()) for x, y in pairs if x.shape == y.shape)
