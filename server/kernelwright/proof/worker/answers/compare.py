"""Are the candidate's numbers the baseline's, and how accurate? Pure functions on two tensors of equal form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from kernelwright.proof.worker.answers.deviation import Deviation, all_finite, chunks, deviation, systematic, telling
from kernelwright.proof.worker.answers.expected import Expected, real
from kernelwright.proof.worker.answers.form import Finding
from kernelwright.proof.worker.answers.tolerance import (
    ENOUGH,
    FACTOR,
    FEW,
    RMS_SHARE,
    SYSTEMATIC,
    USUAL,
    allowed,
    rounding_floor,
)
from kernelwright.proof.worker.answers.trivial import Trivial, trivial_numbers, trivial_values
from kernelwright.values import Accuracy

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes


@dataclass(frozen=True)
class Errors:
    """Largest absolute errors against the reference; `baseline` is None when the baseline is the reference.

    `own` is the baseline's largest relative error, None like `baseline`. `ratio`: the candidate's root mean square over the
    baseline's, over enough elements of ordinary data to mean something. `by_length`: as accurate only if that many terms
    are summed. `trivial`: what would pass as well. `few`: of reduced accuracy, on too few elements to tell rounding from a
    wrong constant.
    """

    candidate: float
    baseline: float | None
    detail: str
    trivial: frozenset[Trivial] = frozenset()
    own: float | None = None
    ratio: float | None = None
    accuracy: Accuracy = Accuracy.AS_BASELINE
    by_length: bool = False
    few: bool = False


@dataclass(frozen=True)
class _Limits:
    """The largest relative error, and the root mean square of them, that are as accurate."""

    worst: float
    rms: float

    def hold(self, found: Deviation) -> bool:
        return found.worst <= self.worst and found.rms <= self.rms


def values(
    expected: Expected,
    candidate: torch.Tensor,
    length: int,
    known: float = 0.0,
    slack: float = 1.0,
    special: bool = False,
    given: Sequence[torch.Tensor] = (),
) -> Errors | Finding:
    """Compare one output tensor of equal form.

    `length`: terms summed per element. Floating values within kernelwright.proof.worker.answers.tolerance, all others exactly;
    NaN and infinities where the baseline has them and nowhere else. `known`: the baseline's largest relative error on
    other data of this size, which counts where there is no reference. `slack` multiplies what is allowed. On `special` data
    an error that is alike in all elements says nothing. `given`: the inputs, a copy of which might pass as well.
    """
    baseline, candidate = expected.baseline, real(candidate)
    if baseline.numel() == 0:
        return Errors(0.0, None, "empty", frozenset(Trivial), own=0.0, accuracy=Accuracy.BIT_EXACT)
    if not baseline.is_floating_point():
        return _exact(baseline, baseline if expected.as_well is None else expected.as_well, candidate, given)
    return _judged(expected, candidate, length, known if expected.own is None else 0.0, slack, special, given)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal in form and in every element, NaN equal to NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    for x, y in zip(chunks(a), chunks(b), strict=True):
        if torch.equal(x, y):
            continue  # nearly always, and less work
        equal = x == y
        if x.is_floating_point() or x.is_complex():
            equal |= (x != x) & (y != y)
        if not bool(equal.all()):
            return False
    return True


def _judged(
    expected: Expected,
    candidate: torch.Tensor,
    length: int,
    known: float,
    slack: float,
    special: bool,
    given: Sequence[torch.Tensor],
) -> Errors | Finding:
    parity = None if expected.finite and all_finite(candidate) else _parity(expected, candidate)
    if parity is not None:
        return parity
    reference, baseline, own = expected.reference, expected.baseline, expected.own
    found = deviation(reference, candidate, baseline, expected.scale, finite=expected.finite)
    limits = _limits(baseline, length, own, known, slack)
    summary = f"{_against(found, own)}, {limits.worst:.2g} allowed"
    errors = Errors(
        found.absolute,
        None if own is None else own.absolute,
        summary,
        trivial_numbers(expected, limits.worst, given),
        None if own is None else own.worst,
        None if own is None or not own.rms or special or baseline.numel() < ENOUGH else found.rms / own.rms,
    )
    if limits.hold(found):
        exact = _identical(baseline, candidate, finite=expected.finite)
        accuracy = Accuracy.BIT_EXACT if exact else Accuracy.AS_BASELINE
        return replace(errors, accuracy=accuracy, by_length=not _limits(baseline, 1, own, known, slack).hold(found))
    usual = max(USUAL.get(baseline.dtype, 0.0) * slack, limits.worst)
    got, expected = float(candidate.reshape(-1)[found.at]), float(reference.reshape(-1)[found.at])
    there = f"at {_index(found.at, baseline.shape)}: {got:.6g} instead of {expected:.6g}"
    if not found.worst <= usual:
        return Finding("values", f"{_against(found, own)}, {usual:.2g} is usual; {there}")
    few = telling(baseline) < FEW
    if not few and not special:
        fit = systematic(reference, candidate, baseline)
        if fit.share > SYSTEMATIC:
            alike = f"all elements are off alike, by the factor {fit.factor:.7g} and the offset {fit.offset:.2g}"
            return Finding("values", f"{summary}; {alike}: a wrong constant or inputs cut to fewer bits, not rounding")
    times = "" if own is None else f", {_times(found, own)} times the baseline's"
    rms = f"root mean square {found.rms:.2g}{times} ({limits.worst:.2g} and {limits.rms:.2g} would be as accurate)"
    detail = f"{_against(found, own)}, {rms}; within the usual {usual:.2g}; {there}"
    return replace(errors, detail=detail, accuracy=Accuracy.REDUCED, few=few)


def _limits(baseline: torch.Tensor, length: int, own: Deviation | None, known: float, slack: float) -> _Limits:
    floor = rounding_floor(baseline.dtype, length)
    if own is None:  # the errors of both lie between them
        more = (FACTOR + 1) * known
        worst, rms = allowed(floor, None) + more, allowed(floor * RMS_SHARE, None) + more
    else:
        worst, rms = allowed(floor, own.worst), allowed(floor * RMS_SHARE, own.rms)
    return _Limits(worst * slack, (worst if baseline.numel() < ENOUGH else rms) * slack)


def _against(found: Deviation, own: Deviation | None) -> str:
    compared = "the baseline (no fp64 reference here)" if own is None else "fp64"
    yours = "" if own is None else f"; baseline's own {own.absolute:.2g}"
    return f"max |err| {found.absolute:.2g} against {compared}{yours}; relative {found.worst:.2g}"


def _times(found: Deviation, own: Deviation) -> str:
    return f"{found.rms / own.rms:.2g}" if own.rms else "many"


def _identical(baseline: torch.Tensor, candidate: torch.Tensor, *, finite: bool) -> bool:
    """Bit for bit, except that a NaN may have other bits; unlike same_bits() it tells 0.0 from -0.0. `finite`: no NaN."""
    if finite:
        bits = _BITS[baseline.dtype.itemsize]
        return torch.equal(*(tensor.detach().reshape(-1).view(bits) for tensor in (baseline, candidate)))
    return all(
        bool((((b == c) & (b.signbit() == c.signbit())) | ((b != b) & (c != c))).all())
        for b, c in zip(chunks(baseline), chunks(candidate), strict=True)
    )


def _parity(expected: Expected, candidate: torch.Tensor) -> Finding | None:
    """Non-finite values must stand where the baseline's do; a candidate may be finite where the fp64 run is, too."""
    baseline, start = expected.baseline, 0
    for ref, base, cand in zip(chunks(expected.reference), chunks(baseline), chunks(candidate), strict=True):
        same = (base == cand) | ((base != base) & (cand != cand))
        both_finite = torch.isfinite(base) & torch.isfinite(cand)
        # The baseline overflowed or divided zero by zero; the candidate did not, and the fp64 run agrees with it.
        better = ~torch.isfinite(base) & torch.isfinite(cand) & torch.isfinite(ref)
        better &= (cand.to(torch.float64) - ref.to(torch.float64)).abs() <= 1e-2 * ref.to(torch.float64).abs()
        wrong = ~(same | both_finite | better)
        if bool(wrong.any()):
            at = int(wrong.to(torch.uint8).argmax())
            place = _index(start + at, baseline.shape)
            detail = f"{float(cand[at])} at {place} where the baseline has {float(base[at]):.6g}"
            return Finding("nan-parity", f"{detail} ({int(wrong.sum())} such elements)")
        start += base.numel()
    return None


def _exact(
    baseline: torch.Tensor, other: torch.Tensor, candidate: torch.Tensor, given: Sequence[torch.Tensor]
) -> Errors | Finding:
    """Each element is the baseline's, or that of `other`, which is right as well."""
    start = 0
    for base, also, cand in zip(chunks(baseline), chunks(other), chunks(candidate), strict=True):
        wrong = (base != cand) & (also != cand)
        if bool(wrong.any()):
            at = int(wrong.to(torch.uint8).argmax())
            place = _index(start + at, baseline.shape)
            return Finding("values", f"{cand[at].item()} at {place} instead of {base[at].item()}, compared exactly")
        start += base.numel()
    return Errors(0.0, None, "equal", trivial_values(baseline, given), own=0.0, accuracy=Accuracy.BIT_EXACT)


def _index(flat: int, shape: torch.Size) -> tuple[int, ...]:
    place: list[int] = []
    for size in reversed(shape):
        flat, remainder = divmod(flat, size)
        place.insert(0, remainder)
    return tuple(place)
