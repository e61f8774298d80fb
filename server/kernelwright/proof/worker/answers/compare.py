"""Are the candidate's numbers the baseline's, and how accurate? Pure functions on two tensors of equal form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from kernelwright.proof.worker.answers.deviation import Deviation, all_finite, deviation, systematic, telling
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
from kernelwright.proof.worker.tensors import chunks, has_eight_bits
from kernelwright.values import Accuracy

EIGHT_BITS = "eight-bits"  # what is found where nobody can tell rounding from what is wrong
_STEPS = 2  # of the format that rounding elsewhere may move a result
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
    an error that is alike in all elements says nothing, nor in which infinity or NaN an overflow ends. `given`: the inputs, a
    copy of which might pass as well.
    """
    baseline, candidate = expected.baseline, real(candidate)
    if baseline.numel() == 0:
        return Errors(0.0, None, "empty", frozenset(Trivial), own=0.0, accuracy=Accuracy.BIT_EXACT)
    if has_eight_bits(expected.given):
        return _of_eight_bits(expected, candidate, given)
    if not baseline.is_floating_point():
        return _exact(expected, candidate, given)
    parity = None if expected.finite and all_finite(candidate) else _parity(expected, candidate, special=special)
    if parity is not None:
        return parity
    reference, own = expected.reference, expected.own
    found = deviation(reference, candidate, baseline, expected.scale, finite=expected.finite)
    limits = _limits(baseline, length, own, known, slack)
    summary = f"{_against(found, own)}, {limits.worst:.2g} allowed"
    errors = Errors(
        found.absolute,
        None if own is None else own.absolute,
        summary,
        trivial_numbers(expected, limits.worst, given),
        expected.own_error,
        None if own is None or not own.rms or special or baseline.numel() < ENOUGH else found.rms / own.rms,
    )
    if limits.hold(found):
        exact = _identical(baseline, candidate, finite=expected.finite)
        accuracy = Accuracy.BIT_EXACT if exact else Accuracy.AS_BASELINE
        return replace(errors, accuracy=accuracy, by_length=not _limits(baseline, 1, own, known, slack).hold(found))
    usual = max(USUAL.get(baseline.dtype, 0.0) * slack, limits.worst)
    got, right = (float(tensor.reshape(-1)[found.at]) for tensor in (candidate, reference))
    there = f"at {_index(found.at, baseline.shape)}: {got:.6g} instead of {right:.6g}"
    if not found.worst <= usual:
        return Finding("values", f"{_against(found, own)}, {usual:.2g} is usual; {there}")
    few = telling(baseline) < FEW
    if not few and not special:
        fit = systematic(reference, candidate, baseline)
        if fit.share > SYSTEMATIC:
            alike = f"all elements are off alike, by the factor {fit.factor:.7g} and the offset {fit.offset:.2g}"
            return Finding("values", f"{summary}; {alike}: a wrong constant or inputs cut to fewer bits, not rounding")
    times = "" if own is None else f", {f'{found.rms / own.rms:.2g}' if own.rms else 'many'} times the baseline's"
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


def _identical(baseline: torch.Tensor, candidate: torch.Tensor, *, finite: bool) -> bool:
    """Bit for bit, except that a NaN may have other bits; unlike same_bits() it tells 0.0 from -0.0. `finite`: no NaN."""
    if finite:
        bits = _BITS[baseline.dtype.itemsize]
        return torch.equal(*(tensor.detach().reshape(-1).view(bits) for tensor in (baseline, candidate)))
    return all(
        bool((((b == c) & (b.signbit() == c.signbit())) | ((b != b) & (c != c))).all())
        for b, c in zip(chunks(baseline), chunks(candidate), strict=True)
    )


def _parity(expected: Expected, candidate: torch.Tensor, *, special: bool) -> Finding | None:
    """Non-finite values must stand where the baseline's do; a candidate may be finite where the fp64 run is, too.

    Where the fp64 run is finite on `special` data and the baseline is not, it overflows, and the candidate may do so in another
    way: which partial sums become infinities, and of which sign, or meet as `inf - inf`, hangs on the order of adding.
    """

    def wrong(ref: torch.Tensor, base: torch.Tensor, cand: torch.Tensor) -> torch.Tensor:
        same = (base == cand) | ((base != base) & (cand != cand))
        both_finite = torch.isfinite(base) & torch.isfinite(cand)
        # The baseline overflowed or divided zero by zero; the candidate did not, and the fp64 run agrees with it.
        better = ~torch.isfinite(base) & torch.isfinite(cand) & torch.isfinite(ref)
        better &= (cand.to(torch.float64) - ref.to(torch.float64)).abs() <= 1e-2 * ref.to(torch.float64).abs()
        overflow = special & torch.isfinite(ref) & ~torch.isfinite(base) & ~torch.isfinite(cand)
        return ~(same | both_finite | better | overflow)

    found = _first(wrong, expected.reference, expected.baseline, candidate)
    if found is None:
        return None
    place, count, (_, base, cand) = found
    return Finding("nan-parity", f"{cand} at {place} where the baseline has {base:.6g} ({count} such elements)")


def _exact(expected: Expected, candidate: torch.Tensor, given: Sequence[torch.Tensor]) -> Errors | Finding:
    """Each element is the baseline's, or that of the fp64 run, which is right as well."""
    baseline, other = expected.baseline, expected.as_well
    wrong = lambda base, also, cand: (base != cand) & (also != cand)
    found = _first(wrong, baseline, baseline if other is None else other, candidate)
    if found is None:
        return Errors(0.0, None, "equal", trivial_values(baseline, given), own=0.0, accuracy=Accuracy.BIT_EXACT)
    place, _, (base, _, cand) = found
    return Finding("values", f"{cand} at {place} instead of {base}, compared exactly")


def _of_eight_bits(expected: Expected, candidate: torch.Tensor, given: Sequence[torch.Tensor]) -> Errors | Finding:
    """Each element is the baseline's, by its bits. One that is a step or two beside it may be rounded, or wrong by a tenth.

    Of many elements, one that is wrong by a small factor moves some to another step: equal bits say more than equal numbers
    of a wider format, within a tolerance, would say.
    """
    found = _exact(expected, candidate, given)
    if isinstance(found, Errors):
        return found
    kind = str(expected.given.dtype).removeprefix("torch.")
    far = lambda base, cand: (_step(base) - _step(cand)).abs() > _STEPS
    if (first := _first(far, expected.baseline, candidate)) is not None:
        place, count, _ = first
        return Finding("values", f"{count} elements are more than {_STEPS} steps of {kind} off, the first at {place}")
    return Finding(
        EIGHT_BITS,
        f"is {kind} and not the baseline's bit for bit: what is wrong by a tenth looks like rounding in it. Make it float16 or "
        "wider where it is to be verified.",
    )


def _step(bits: torch.Tensor) -> torch.Tensor:
    """The place of a number among those of its format, from its bits: sign and magnitude."""
    magnitude = (bits & 0x7F).to(torch.int16)
    return torch.where(bits >= 0x80, -magnitude, magnitude)


def _first(
    wrong: Callable[..., torch.Tensor], *tensors: torch.Tensor
) -> tuple[tuple[int, ...], int, list[float]] | None:
    """The place of the first element that is `wrong`, how many are in its chunk, and what each of the tensors has there."""
    start = 0
    for parts in zip(*map(chunks, tensors), strict=True):
        there = wrong(*parts)
        if bool(there.any()):
            at = int(there.to(torch.uint8).argmax())
            return _index(start + at, tensors[0].shape), int(there.sum()), [part[at].item() for part in parts]
        start += there.numel()
    return None


def _index(flat: int, shape: torch.Size) -> tuple[int, ...]:
    place: list[int] = []
    for size in reversed(shape):
        flat, remainder = divmod(flat, size)
        place.insert(0, remainder)
    return tuple(place)
