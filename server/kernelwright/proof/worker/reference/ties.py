"""Which of equal values comes first is left open by torch's topk, sort and their like: an index may point to another of them.

argmax, max and min are documented to return the first, so nothing is left open there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from kernelwright.proof.worker.dispatch import DispatchMode
from kernelwright.proof.worker.inputs import Inputs, map_tensors
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.tensors import same_bits
from kernelwright.proof.worker.whole_numbers import is_whole

_NAMED = re.compile(r"\b(topk|sort|argsort|kthvalue|median|nanmedian|mode)\b(?!\s*=[^=])")  # no `mode=`
_aten = torch.ops.aten
_OPEN = (_aten.topk, _aten.sort, _aten.kthvalue, _aten.median, _aten.nanmedian, _aten.mode)


@dataclass(frozen=True)
class Ranking:
    """What one operator ranked along its last dimension, with the indices that it returned.

    `rows`: of each element of `indices` the row of `ranked` that it points into, in the same layout.
    """

    ranked: torch.Tensor
    indices: torch.Tensor
    rows: torch.Tensor

    def rows_of(self, output: torch.Tensor) -> torch.Tensor | None:
        """The rows that the elements of an output point into, where it is these indices or a view of them."""
        indices = self.indices
        memory, own = (tensor.untyped_storage().data_ptr() for tensor in (output, indices))
        if output.dtype == indices.dtype and memory == own:
            first = output.storage_offset() - indices.storage_offset()
            return self.rows.as_strided(output.shape, output.stride(), first)
        same = output.shape == indices.shape and torch.equal(output.to(indices.dtype), indices)
        return self.rows if same else None


class _Rankings(DispatchMode):
    """Keeps what is ranked within it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Ranking] = []

    def seen(self, func: Any, packet: Any, args: Any, kwargs: Any, made: Any) -> Any:
        given = left_open(func, args, kwargs)
        if given is not None:
            self.found.append(_ranking(given["self"], given["dim"], made[1]))
        return made


def left_open(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments by name of an operator that leaves open which of equal values comes first; None for all others."""
    if getattr(func, "overloadpacket", None) not in _OPEN:
        return None
    given = {one.name: one.default_value for one in func._schema.arguments}
    given |= {**dict(zip(given, args, strict=False)), **kwargs}
    along = "dim" in given and given["self"].dim()
    return given if along and "values" not in given and not given.get("stable") else None


def names_an_open_order(text: str) -> bool:
    """Whether a text names an operator that leaves open which of equal values comes first."""
    return bool(_NAMED.search(text))


def ties_apart(
    text: str, target: Callable[..., Any], inputs: Inputs, baseline: Observation, candidate: Observation, *, seed: int
) -> tuple[Observation, str]:
    """The candidate's observation with the baseline's indices where its own point to equal values, and of how many, in words.

    The values are those that the baseline itself ranks, and no element is pointed to more often. `text`: the baseline's.
    """
    expected, got = baseline.tensors(), candidate.tensors()
    if not names_an_open_order(text) or not any(_differ(*pair) for pair in zip(expected, got, strict=False)):
        return candidate, ""
    with _Rankings() as rankings:
        try:
            again = observe(target, inputs, seed=seed).tensors()
        except Exception:  # noqa: BLE001  (user code under a dispatch mode raises anything)
            return candidate, ""
    numbers, count = iter(range(len(expected))), 0

    def untied(value: torch.Tensor) -> torch.Tensor:
        nonlocal count
        base, once_more = (tensors[number] for number in [next(numbers)] for tensors in (expected, again))
        if not _differ(base, value) or not same_bits(base, once_more):
            return value
        if not any(_points_to_equals(one, once_more, value) for one in rankings.found):
            return value
        count += int((base != value).sum())
        return value.clone().copy_(base)  # keeps the strides, which are compared too

    if not len(expected) == len(got) == len(again):
        return candidate, ""
    output = map_tensors(untied, candidate.output)
    words = f"another of equal values at {count} places"
    return (replace(candidate, output=output), words) if count else (candidate, "")


def _differ(base: torch.Tensor, got: torch.Tensor) -> bool:
    """Whether both are indices of one form, not all of them the same."""
    alike = is_whole(base) and (base.shape, base.dtype, base.device) == (got.shape, got.dtype, got.device)
    return alike and not torch.equal(base, got)


def _ranking(ranked: torch.Tensor, dim: int, indices: torch.Tensor) -> Ranking:
    lines = ranked.detach().movedim(dim, -1).clone(memory_format=torch.contiguous_format)
    kept = indices.dim() == ranked.dim()
    moved = indices.movedim(dim, -1) if kept else indices.unsqueeze(-1)
    numbers = torch.arange(lines.numel() // max(lines.shape[-1], 1), device=indices.device)
    rows = torch.empty_strided(indices.shape, indices.stride(), dtype=torch.int64, device=indices.device)
    (rows.movedim(dim, -1) if kept else rows.unsqueeze(-1)).copy_(
        numbers.reshape(*moved.shape[:-1], 1).expand_as(moved)
    )
    return Ranking(lines, indices, rows)


def _points_to_equals(ranking: Ranking, own: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether `other` points, element by element, to values equal to those that `own` points to, and to as many of them."""
    rows, length = ranking.rows_of(own), ranking.ranked.shape[-1]
    if rows is None or not bool(((other >= 0) & (other < length)).all()):
        return False
    first, second = (rows * length + indices.long() for indices in (own, other))
    one, two = (ranking.ranked.reshape(-1)[places] for places in (first, second))
    equal = bool(((one == two) | ((one != one) & (two != two))).all())
    return equal and first.unique().numel() == second.unique().numel()
