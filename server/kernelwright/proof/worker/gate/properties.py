"""Input data of special kinds, on which kernels err that are right on random numbers.

Each property changes the floating-point tensors of a call and keeps their shape, dtype and device, but for OTHER_RANKS.
What rises stays rising: a binary search in it is no operation on anything else.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch

from kernelwright.proof.worker.inputs import Inputs, poison_
from kernelwright.proof.worker.whole_numbers import (
    all_different,
    is_numbering,
    is_whole,
    never_falls,
    rising_as,
    with_planted,
)

_OFFSET = {torch.float16: 64.0, torch.bfloat16: 32.0}  # where the dtype still resolves the random part
_USUAL_OFFSET = 1024.0
_ROWS_ENOUGH = 5
_SUMMIT = -200.0  # e to it is nothing
_HEIGHT = {torch.float16: 256.0, torch.bfloat16: 256.0}  # so that e to the difference of two blocks overflows
_USUAL_HEIGHT = 1000.0
SLOPES = "slopes"
PLANTED = "large values planted"
WHOLE_NUMBERS = "other whole numbers"
MASKED_ROWS = "an empty and a full row of masks"
_ZEROS = "zeros in the first input"
_LATER = "views that begin later in their storage"
UNALIGNED = "views that begin off any alignment"
OVERFLOWING = "squares that overflow"
SIGNED_ZEROS = frozenset({"signed zeros", "signed zeros in other inputs"})
LARGE_WHOLE_NUMBERS = "large whole numbers"
_MORE, _FEWER = "one dimension more", "one dimension fewer"
OTHER_RANKS = frozenset({_MORE, _FEWER})
_FAR, _STEP = 20480.0, 1024.0
# Rounded by float32, nearly too large for int32, too large for it, rounded by float64; sums of them still fit.
_WHOLE = (1 << 24) + 1, (1 << 30) + 1, (1 << 31) + 1, (1 << 53) + 1
_PROBE = 100.0

Change = Callable[[torch.Tensor], torch.Tensor]


def _one_hot(x: torch.Tensor) -> torch.Tensor:
    hot = torch.zeros_like(x)
    hot[tuple(size // 2 for size in x.shape)] = 1.0
    return hot


def _slopes(x: torch.Tensor) -> torch.Tensor:
    """Rows that stay at their largest value for half of their length and then fall, and such that rise to the end.

    In turn along the first dimension, all far below zero. A maximum that is carried from block to block is the first one,
    or the last, or the same in several blocks, and never what it began with. The last number of a row that falls is larger
    than those before it, and still not the largest.
    """
    rows = x.shape[0] if x.dim() >= 2 else 1
    way = torch.linspace(0.0, 1.0, x.numel() // rows, dtype=torch.float64, device=x.device)
    pair = torch.stack(((1 - 2 * way).clamp(max=0.0), way - 1))
    pair[0, -1] = -0.25
    pair = (pair * _HEIGHT.get(x.dtype, _USUAL_HEIGHT) + _SUMMIT).to(x.dtype)
    return pair[torch.arange(rows, device=x.device) % 2].reshape(x.shape)


def _far_below(x: torch.Tensor) -> torch.Tensor:
    """Below every number that kernels begin a maximum with in the place of -inf.

    In steps that 16 bits resolve: what is not equal is so far apart that no rounding of the exponents shows.
    """
    return -_FAR - _STEP * x.abs().round()


def _overflowing(x: torch.Tensor) -> torch.Tensor:
    """Finite numbers whose squares are not; of float64 nothing tells more than the baseline does."""
    largest = torch.finfo(x.dtype).max
    return x if x.dtype is torch.float64 else (x.double() * 5 * largest**0.5).clamp(-largest, largest).to(x.dtype)


def _signed_zeros(x: torch.Tensor) -> torch.Tensor:
    """Every third element is 0.0 and the one behind it -0.0."""
    made, place = x.clone(), torch.arange(x.numel(), device=x.device).reshape(x.shape) % 3
    made[place == 0], made[place == 1] = 0.0, -0.0
    return made


def _large_whole(x: torch.Tensor) -> torch.Tensor:
    """Some elements that float32, int32 or float64 cannot hold, of either sign."""
    wanted = [n for n in _WHOLE if x.dtype is not torch.bool and n <= torch.iinfo(x.dtype).max]
    return with_planted(x, [*wanted, *(-n for n in wanted)]) if wanted else x


def _mixed(x: torch.Tensor) -> torch.Tensor:
    """Neighbours that differ by up to eight orders of magnitude, four in 16 bits."""
    orders = 4 if torch.finfo(x.dtype).bits == 16 else 8
    generator = torch.Generator().manual_seed(x.numel())
    exponents = torch.randint(-orders // 2, orders // 2 + 1, x.shape, generator=generator)
    return x * (10.0**exponents).to(x.device, x.dtype)


def _planted(x: torch.Tensor, value: float) -> torch.Tensor:
    """At the first element; where there are rows enough to leave some alone, at the last one and within another row too.

    Rows are those of the last dimension: what is computed row by row must stay right in the others.
    """
    made, rows = x.clone(), x.numel() // x.shape[-1]
    places = [tuple(0 for _ in x.shape)]
    if rows >= _ROWS_ENOUGH:
        places += [tuple(size // 2 for size in x.shape), tuple(size - 1 for size in x.shape)]
    for place in places:
        made[place] = value
    return made


def _varied(x: torch.Tensor) -> torch.Tensor:
    """Only where all elements are alike: what a workload makes constant must not be taken for granted."""
    first = float(x.reshape(-1)[0])
    if not bool((x == first).all()):
        return x
    noise = torch.rand(x.shape, generator=torch.Generator(x.device).manual_seed(x.numel()), device=x.device).to(x.dtype)
    return first * (0.5 + noise) if first else noise - 0.5


def _other_numbers(x: torch.Tensor) -> torch.Tensor:
    """Whole numbers drawn again from the tensor's own, truth values at random: no mask is full, no numbering in order.

    Indices stay in range. Numbers that never fall stay so, and begin and end where they did, as offsets must. A numbering, and
    other numbers of which none is there twice, are exchanged: written to, equal ones are a race.
    """
    generator = torch.Generator().manual_seed(x.numel())
    if x.dtype is torch.bool:
        return (torch.rand(x.shape, generator=generator) < 0.5).to(x.device)
    flat = x.reshape(-1)
    if is_numbering(flat) or (all_different(flat) and not never_falls(flat)):
        return flat[torch.randperm(flat.numel(), generator=generator).to(x.device)].reshape(x.shape)
    drawn = flat[torch.randint(0, flat.numel(), flat.shape, generator=generator).to(x.device)]
    if never_falls(flat):
        drawn[0], drawn[-1] = flat[0], flat[-1]
        drawn = drawn.sort().values
    return drawn.reshape(x.shape)


def _masked_rows(x: torch.Tensor) -> torch.Tensor:
    """Truth values, or zeros and ones: the first row has none, the last row nothing else."""
    if x.dim() < 2 or (x.dtype is not torch.bool and not bool(((x == 0) | (x == 1)).all())):
        return x
    made = x.reshape(-1, x.shape[-1]).clone()
    made[0], made[-1] = 0, 1
    return made.reshape(x.shape)


def _half_zeros(x: torch.Tensor) -> torch.Tensor:
    made = x.clone()
    made[: (x.shape[0] + 1) // 2] = 0
    return made


def _part_of(x: torch.Tensor, shape: tuple[int, ...], part: tuple[Any, ...]) -> torch.Tensor:
    """The same values as this part of a tensor of this shape, the rest of which is NaN."""
    view = torch.full(shape, math.nan, dtype=x.dtype, device=x.device)[part]
    view.copy_(x)
    return view


def _padded(x: torch.Tensor, dimension: int = -1) -> torch.Tensor:
    """The same values as the beginnings of longer rows, an odd number of elements apart where theirs is even.

    Along `dimension` -2 as the first rows of longer matrices: rows lie side by side, matrices do not.
    """
    shape = list(x.shape)
    shape[dimension] += 3
    return _part_of(x, (*shape,), (..., slice(x.shape[dimension]), *[slice(None)] * (-1 - dimension)))


def _exchanged(x: torch.Tensor, *dimensions: int) -> torch.Tensor:
    """The same values, with these two dimensions exchanged in memory."""
    return x.transpose(*dimensions).contiguous().transpose(*dimensions)


def _begun_later(x: torch.Tensor, before: int) -> torch.Tensor:
    """The same values in the same order, `before` elements behind the start of their storage."""
    wide = torch.empty(before + x.numel(), dtype=x.dtype, device=x.device)
    poison_(wide)[before:].copy_(x.reshape(-1))
    return wide[before:].view(x.shape)


_VIEWS: dict[str, Change] = {
    "sliced views": lambda x: _part_of(x, (*x.shape[:-1], 2 * x.shape[-1]), (..., slice(None, None, 2))),
    "padded rows": _padded,
    "padded rows in other inputs": _padded,
    "transposed views": lambda x: _exchanged(x, -1, -2) if x.dim() >= 2 else x,
    # As `q.view(b, s, h, d).transpose(1, 2)` has them; of three dimensions the first two.
    "outer dimensions exchanged": lambda x: _exchanged(x, -3, -2) if x.dim() >= 3 else x,
    "inner slices": lambda x: _padded(x, -2) if x.dim() >= 3 else x,
    _LATER: lambda x: _begun_later(x, 64),
    UNALIGNED: lambda x: _begun_later(x, 3),
}
PROPERTIES: dict[str, Change] = {
    "constants varied": _varied,
    WHOLE_NUMBERS: _other_numbers,
    MASKED_ROWS: _masked_rows,
    LARGE_WHOLE_NUMBERS: _large_whole,
    _ZEROS: _half_zeros,
    "zeros in other inputs": _half_zeros,
    "negative": lambda x: -x.abs(),
    "far below zero": _far_below,
    "far above zero": lambda x: -_far_below(x),  # above every number that kernels begin a minimum with
    OVERFLOWING: _overflowing,
    "signed zeros": _signed_zeros,
    "signed zeros in other inputs": _signed_zeros,
    "alternating signs": lambda x: x.abs() * (1 - 2 * (torch.arange(x.shape[-1], device=x.device) % 2)).to(x.dtype),
    "all equal": lambda x: torch.full_like(x, float(x.reshape(-1)[0])),
    "one hot": _one_hot,
    "large offset": lambda x: x + _OFFSET.get(x.dtype, _USUAL_OFFSET),
    "sorted": lambda x: x.sort(dim=-1).values,
    SLOPES: _slopes,
    "tiny": lambda x: x * (torch.finfo(x.dtype).tiny * 4),
    "mixed magnitudes": _mixed,
    # The largest finite value of half precision; elsewhere one whose square, summed, is still finite.
    PLANTED: lambda x: _planted(x, min(float(torch.finfo(x.dtype).max), 1e15)),
    "NaN planted": lambda x: _planted(x, math.nan),
    "NaN planted in other inputs": lambda x: _planted(x, math.nan),
    "inf planted": lambda x: _planted(x, math.inf),
    "-inf planted": lambda x: _planted(x, -math.inf),
    **_VIEWS,
    _MORE: lambda x: torch.stack((x, x.flip(0) if x.dim() > 1 else x)),
    _FEWER: lambda x: x[0],
}
VIEWS = frozenset(_VIEWS)
INFINITE = frozenset({"inf planted", "-inf planted"})
NON_FINITE = INFINITE | {"NaN planted", "NaN planted in other inputs"}
LARGE = frozenset(
    {PLANTED, "large offset", "far below zero", "far above zero", OVERFLOWING, "mixed magnitudes", SLOPES}
)
_IN_THE_FIRST = INFINITE | {
    "NaN planted",
    PLANTED,
    "padded rows",
    _ZEROS,
    "signed zeros",
}  # of the tensors: the rest of the output stays as it was, and strides may be read of some inputs only
_IN_THE_OTHERS = frozenset(name for name in PROPERTIES if name.endswith("in other inputs"))
_BEGUN_LATER = frozenset({_LATER, UNALIGNED})
_OF_WHOLE_NUMBERS = frozenset({WHOLE_NUMBERS, MASKED_ROWS, LARGE_WHOLE_NUMBERS})


def with_property(inputs: Inputs, name: str) -> Inputs | None:
    """The inputs with the property, None where it changes nothing of them."""
    if name in OTHER_RANKS:
        return _of_other_rank(inputs, name)
    alone = name == _ZEROS and sum(map(_eligible, inputs.tensors())) == 1  # nothing is left beside it
    made = _with(inputs, name, torch.zeros_like if alone else PROPERTIES[name])
    same = all(new is old for new, old in zip(made.tensors(), inputs.tensors(), strict=True))
    return None if same else made


def probes(plain: Inputs, name: str) -> list[Inputs]:
    """`plain` with large finite numbers, of either sign, where the property `name` puts NaN."""
    return [_with(plain, name, lambda x, n=number: _planted(x, n)) for number in (_PROBE, -_PROBE)]


def _of_other_rank(inputs: Inputs, name: str) -> Inputs | None:
    """The inputs with another rank for all tensors that have the first one's."""
    rank, change = next((t.dim() for t in inputs.tensors() if t.dim()), 0), PROPERTIES[name]
    if rank < (1 if name == _MORE else 2) or not all(t.numel() for t in inputs.tensors()):
        return None
    return inputs.changed(lambda t: change(t.detach()).requires_grad_(t.requires_grad) if t.dim() == rank else t)


def _with(inputs: Inputs, name: str, change: Change) -> Inputs:
    """The inputs with `change` made of the tensors that the property `name` is for; what it leaves as it was is the same."""
    numbers = itertools.count()

    def changed(given: torch.Tensor) -> torch.Tensor:
        # Whole numbers or truth values, in which some may stand where others do.
        counted = (is_whole(given) or given.dtype is torch.bool) and given.dim() > 0 and given.numel() >= 2
        whole = name in _OF_WHOLE_NUMBERS | _BEGUN_LATER and counted
        if not whole and (name in _OF_WHOLE_NUMBERS or not _eligible(given, lone=name == "constants varied")):
            return given
        number = next(numbers)
        if (name in _IN_THE_FIRST and number > 0) or (name in _IN_THE_OTHERS and number == 0):
            return given
        plain = given.detach()
        made = change(plain)
        if name not in VIEWS and name not in NON_FINITE:
            made = rising_as(plain, made)
        lies_alike = (made.stride(), made.storage_offset()) == (plain.stride(), plain.storage_offset())
        if made is plain or (lies_alike and torch.equal(made, plain)):
            return given
        return made.requires_grad_(given.requires_grad)

    return inputs.changed(changed)


def _eligible(value: torch.Tensor, *, lone: bool = False) -> bool:
    """Floating-point tensors of two elements or more; with `lone` those of one, too."""
    if not value.is_floating_point() or value.dtype.itemsize < 2:
        return False
    enough = value.numel() >= 1 if lone else value.dim() > 0 and value.numel() >= 2
    return enough and not bool(value.isnan().any())  # NaN: an output to be filled
