"""The original once more with equal values in another order, where torch leaves that open: the first first, or the last.

What hangs on the order further on (a count of tokens for each expert, ranks, what is gathered) is right in either.
"""

from collections.abc import Callable
from typing import Any

import torch

from kernelwright.proof.worker.answers.compare import same_bits
from kernelwright.proof.worker.answers.judge import Judged
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Targets
from kernelwright.proof.worker.dispatch import DispatchMode
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.reference.ties import left_open, names_an_open_order

_TOPK, _SORT = torch.ops.aten.topk, torch.ops.aten.sort


class Ordered(DispatchMode):
    """Within it topk and sort return the `last` of equal values first, or the first."""

    def __init__(self, *, last: bool) -> None:
        super().__init__()
        self._last = last

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = getattr(func, "overloadpacket", None)
        given = left_open(func, args, kwargs or {}) if packet in (_TOPK, _SORT) else None
        if given is None:
            return func(*args, **(kwargs or {}))
        x, dim = given["self"], given["dim"]
        falling = given["largest"] if packet is _TOPK else given["descending"]
        values, indices = (x.flip(dim) if self._last else x).sort(dim=dim, descending=falling, stable=True)
        indices = x.shape[dim] - 1 - indices if self._last else indices
        if packet is _TOPK:
            values, indices = (t.narrow(dim, 0, given["k"]).contiguous() for t in (values, indices))
        return values, indices


def judged_in_another_order(
    text: str,
    targets: Targets,
    inputs: Inputs,
    baseline: Observation,
    judged: Judged,
    compare: Callable[[Oracle], Judged],
    *,
    seed: int,
) -> Judged:
    """`judged`, or `compare` beside the original with another order of equal values, where that finds nothing.

    `text`: the original's.
    """
    if judged.finding is None or not names_an_open_order(text):
        return judged
    for last in (False, True):
        try:
            with Ordered(last=last):
                other = observe(targets.baseline, inputs, seed=seed)
                if len(other.tensors()) != len(baseline.tensors()) or all(
                    same_bits(*pair) for pair in zip(other.tensors(), baseline.tensors(), strict=True)
                ):
                    continue
                double = in_fp64(targets.double, inputs, other, seed=seed)
        except Exception:  # noqa: BLE001  (user code under a dispatch mode raises anything)
            continue
        found = compare(Oracle(double if isinstance(double, Observation) else None, other))
        if found.finding is None:
            return found
    return judged
