"""How far one tensor is from another, as a few numbers; computed in fp64 and in chunks, so that large tensors fit."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from kernelwright.proof.worker.tensors import chunks

_SAMPLE = 1 << 16
# What a mask fills with, -1e4 or finfo.min, beside what is left: a 32nd of the elements at least, 1000 times as large.
_HUGE, _MANY, _FAR_ABOVE = 1e3, 32, 1e3


@dataclass(frozen=True)
class Deviation:
    """Errors against a reference: `worst` and `rms` relative to `|reference| + scale`, `absolute` the largest as it is.

    `at` is the flat index of `worst`.
    """

    worst: float
    at: int
    rms: float
    absolute: float


@dataclass(frozen=True)
class Systematic:
    """The part of the error that one factor and one offset explain: `share` (0..1) of the sum of squares."""

    share: float
    factor: float
    offset: float


def all_finite(tensor: torch.Tensor) -> bool:
    """Whether there is neither NaN nor an infinity; a complex number has them where one of its parts does."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return not tensor.is_floating_point() or all(_finite(_ends(part)) for part in chunks(tensor) if part.numel())


def extent(tensor: torch.Tensor) -> tuple[float, float]:
    """The least and the largest finite value of floating ones; the least is the larger one where there is none."""
    low, high = torch.inf, -torch.inf
    for chunk in chunks(tensor) if tensor.numel() else ():
        here = _ends(chunk)
        if not _finite(here):
            finite = torch.isfinite(chunk)
            least, most = torch.where(finite, chunk, torch.inf).min(), torch.where(finite, chunk, -torch.inf).max()
            here = torch.stack([least, most]).tolist()
        low, high = min(low, here[0]), max(high, here[1])
    return low, high


def _ends(chunk: torch.Tensor) -> list[float]:
    """The least and the largest value, NaN where there is one: one answer of the device for both."""
    return torch.stack(torch.aminmax(chunk)).tolist()


def _finite(numbers: list[float]) -> bool:
    return all(map(math.isfinite, numbers))


def typical_size(tensor: torch.Tensor, dtype: torch.dtype, filled: torch.Tensor | None = None) -> float:
    """Root mean square of the finite values, those beyond 10 times the 99.9 % quantile counted as that much.

    At least the size at which rounding errors fall below the normal numbers of `dtype`, which hardware may flush. Where
    `filled`, of the same shape, has one huge value in many places, bit for bit, as a mask makes it, these places do not count.
    """
    info = torch.finfo(dtype)
    flat = tensor.detach().reshape(-1)
    step = max(1, flat.numel() // _SAMPLE) | 1  # odd: one that the rows are a multiple of would see few columns
    magnitude = flat[::step].to(torch.float64).abs()
    finite = torch.isfinite(magnitude)
    whole = _root_mean_square(magnitude[finite])
    if filled is not None:
        there = _fill(filled.detach().reshape(-1)[::step])
        rest = 0.0 if there is None else _root_mean_square(magnitude[finite & ~there])
        whole = rest if 0.0 < rest * _FAR_ABOVE < whole else whole
    return max(whole, info.tiny / info.eps)


def telling(tensor: torch.Tensor) -> float:
    """By how many elements errors beside the typical size are told: as many as there are where all are of one size, about one
    where one is far larger than the rest. Kish's effective sample size (Survey Sampling, 1965) of the finite values.
    """
    largest = max((float(sizes.max()) for sizes in _sizes(tensor) if sizes.numel()), default=0.0)
    if not largest:
        return float(tensor.numel())
    whole = squares = 0.0
    for sizes in _sizes(tensor):
        shares = sizes / largest
        whole, squares = whole + float(shares.sum()), squares + float(shares.square().sum())
    return whole**2 / squares


def _sizes(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The finite absolute values, chunk by chunk."""
    for chunk in chunks(tensor):
        sizes = (chunk if chunk.is_complex() else chunk.double()).abs().double()
        yield sizes[sizes.isfinite()]


def _root_mean_square(magnitude: torch.Tensor) -> float:
    if magnitude.numel() == 0:
        return 0.0
    rank = min(int(0.999 * magnitude.numel()) + 1, magnitude.numel())
    # On a GPU kthvalue has one block at work, sorting has all.
    of_rank = magnitude.sort().values[rank - 1] if magnitude.is_cuda else magnitude.kthvalue(rank).values
    largest = 10 * float(of_rank) or float(magnitude.max())
    return float(magnitude.clamp(max=largest).square().mean().sqrt())


def _fill(flat: torch.Tensor) -> torch.Tensor | None:
    """Where the largest number stands, if it is huge and stands in many places."""
    size = torch.where(torch.isfinite(flat), flat, 0.0).abs()
    largest = float(size.max()) if size.numel() else 0.0
    if largest < _HUGE:
        return None
    there = size == largest
    return there if int(there.sum()) * _MANY >= flat.numel() else None


def deviation(
    reference: torch.Tensor, got: torch.Tensor, baseline: torch.Tensor, scale: float, *, finite: bool = False
) -> Deviation:
    """Of `got` from `reference`, where that and `baseline` are finite; all three of the same shape, `scale` above 0.

    `finite`: the baseline is known to be. Then nothing is looked for before the result tells of it, which is less work.
    """
    if finite:
        found = _summed(_plain_differences(reference, got), scale)
        if math.isfinite(found.rms):
            return found
    return _summed(_differences(reference, got, baseline), scale)


def _summed(differences: Iterable[tuple[torch.Tensor, torch.Tensor]], scale: float) -> Deviation:
    worst, at, squares, absolute, start = 0.0, 0, 0.0, 0.0, 0
    for r, difference in differences:
        size = difference.abs()
        relative = size / (r.abs() + scale)
        peak, place = relative.max(dim=0)
        # One answer of the device, where each number asked for by itself would wait for it.
        found = torch.stack([peak, place.to(torch.float64), relative.square().sum(), size.max()]).tolist()
        if found[0] > worst or start == 0:
            worst, at = found[0], start + int(found[1])
        squares += found[2]
        absolute = max(absolute, found[3])
        start += r.numel()
    return Deviation(worst, at, math.sqrt(squares / max(start, 1)), absolute)


def systematic(reference: torch.Tensor, got: torch.Tensor, baseline: torch.Tensor) -> Systematic:
    """The least squares fit `got = factor * reference + offset`, over the elements that deviation() looks at."""
    n, sums = 0, torch.zeros(5, dtype=torch.float64)
    for r, d in _differences(reference, got, baseline):
        sums += torch.stack([r.sum(), d.sum(), (r * r).sum(), (r * d).sum(), (d * d).sum()]).cpu()
        n += r.numel()
    sr, sd, srr, srd, sdd = (sums / max(n, 1)).tolist()
    spread, left = srr - sr * sr, sdd - sd * sd
    slope = (srd - sr * sd) / spread if spread > 1e-12 * srr else 0.0
    explained = sd * sd + slope * (srd - sr * sd)
    return Systematic(explained / sdd if sdd > 0 and left >= 0 else 0.0, 1 + slope, sd - slope * sr)


def _differences(
    reference: torch.Tensor, got: torch.Tensor, baseline: torch.Tensor
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """(reference, got - reference) in fp64, chunk by chunk; 0 and 0 where the reference, 0 where the baseline is not finite."""
    for (r, difference), base in zip(_plain_differences(reference, got), chunks(baseline), strict=True):
        finite = torch.isfinite(r)
        yield torch.where(finite, r, 0.0), torch.where(finite & torch.isfinite(base), difference, 0.0)


def _plain_differences(reference: torch.Tensor, got: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for ref, val in zip(chunks(reference), chunks(got), strict=True):
        r = ref.to(torch.float64)
        yield r, val.to(torch.float64) - r
