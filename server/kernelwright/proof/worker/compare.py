"""Is the candidate's answer the baseline's? Pure functions on what two calls left behind; no user code runs here."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.proof.worker.tolerance import FACTOR, UNTRUSTED, allowed, rounding_floor

_CHUNK = 1 << 24  # elements compared at a time, in fp64: 128 MiB per operand
_SAMPLE = 1 << 20
_FEW = 1024


@dataclass(frozen=True)
class Finding:
    """One failed comparison: the check's name and the evidence."""

    name: str
    detail: str


@dataclass(frozen=True)
class Errors:
    """Largest absolute errors against the reference; `baseline` is None when the baseline is the reference.

    `own` is the baseline's largest relative error, None like `baseline`.
    """

    candidate: float
    baseline: float | None
    detail: str
    weak: str = ""
    own: float | None = None


def structure(expected: Any, got: Any, where: str = "the output") -> Finding | None:
    """Types and nesting: tuples, lists, dicts and their keys, None, numbers, plain tensors that own real memory."""
    if isinstance(expected, torch.Tensor):
        return _tensor_type(got, where)
    if type(expected) is not type(got):
        return Finding("structure", f"{where} is {_article(got)}, the baseline's is {_article(expected)}")
    if isinstance(expected, dict):
        if list(expected) != list(got):
            return Finding("structure", f"{where} has the keys {list(got)}, the baseline's {list(expected)}")
        pairs = [(expected[key], got[key], f"{where}[{key!r}]") for key in expected]
    elif isinstance(expected, list | tuple):
        if len(expected) != len(got):
            return Finding("structure", f"{where} has {len(got)} items, the baseline's {len(expected)}")
        pairs = [(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(expected, got, strict=True))]
    else:
        return None
    return next((found for a, b, name in pairs if (found := structure(a, b, name))), None)


def same_form(expected: torch.Tensor, got: torch.Tensor, where: str) -> Finding | None:
    """Shape, dtype, device and layout of two tensors."""
    if expected.shape != got.shape:
        return Finding("shape", f"{where} has shape {tuple(got.shape)}, the baseline's {tuple(expected.shape)}")
    if expected.dtype != got.dtype:
        return Finding("dtype", f"{where} is {_name(got.dtype)}, the baseline's is {_name(expected.dtype)}")
    if expected.device != got.device:
        return Finding("device", f"{where} is on {got.device}, the baseline's on {expected.device}")
    return _layout(expected, got, where)


def values(
    reference: torch.Tensor | None,
    baseline: torch.Tensor,
    candidate: torch.Tensor,
    length: int,
    known: float = 0.0,
    slack: float = 1.0,
) -> Errors | Finding:
    """Compare one output tensor of equal form. `reference` is the fp64 run's tensor, None when there is none.

    `length`: terms summed per element. Floating values within kernelwright.proof.worker.tolerance, all others exactly;
    NaN and infinities where the baseline has them and nowhere else. `known`: the baseline's largest relative error on
    other data of this size, which counts where there is no reference. `slack` multiplies what is allowed.
    """
    if baseline.numel() == 0:
        return Errors(0.0, None, "empty", own=0.0)
    if baseline.is_complex():
        baseline, candidate = torch.view_as_real(baseline), torch.view_as_real(candidate)
        reference = torch.view_as_real(reference) if reference is not None and reference.is_complex() else None
    if not baseline.is_floating_point():
        return _exact(baseline, candidate)
    if reference is not None and (reference.dtype != torch.float64 or baseline.dtype == torch.float64):
        reference = None
    scale = typical_size(baseline if reference is None else reference, baseline.dtype)
    if reference is not None:
        own, _, own_rms, _ = _errors(reference, baseline, baseline, scale)
        if own > UNTRUSTED:
            reference = None  # random numbers or a cast inside: the fp64 run computed something else
    if reference is None:
        return _judged(baseline, baseline, candidate, scale, length, None, None, known, slack)
    return _judged(reference, baseline, candidate, scale, length, own, own_rms, 0.0, slack)


def typical_size(tensor: torch.Tensor, dtype: torch.dtype) -> float:
    """Root mean square of the finite values, those beyond 10 times the 99.9 % quantile counted as that much.

    At least the size at which rounding errors fall below the normal numbers of `dtype`, which hardware may flush.
    """
    info = torch.finfo(dtype)
    flat = tensor.detach().reshape(-1)
    step = max(1, flat.numel() // _SAMPLE)
    magnitude = flat[::step].to(torch.float64).abs()
    magnitude = magnitude[torch.isfinite(magnitude)]
    if magnitude.numel() == 0:
        return info.tiny / info.eps
    rank = min(int(0.999 * magnitude.numel()) + 1, magnitude.numel())
    largest = 10 * float(magnitude.kthvalue(rank).values) or float(magnitude.max())
    return max(float(magnitude.clamp(max=largest).square().mean().sqrt()), info.tiny / info.eps)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal in form and in every element, NaN equal to NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    for x, y in zip(_chunks(a), _chunks(b), strict=True):
        equal = x == y
        if x.is_floating_point() or x.is_complex():
            equal |= (x != x) & (y != y)
        if not bool(equal.all()):
            return False
    return True


def _judged(
    reference: torch.Tensor,
    baseline: torch.Tensor,
    candidate: torch.Tensor,
    scale: float,
    length: int,
    own: float | None,
    own_rms: float | None,
    known: float = 0.0,
    slack: float = 1.0,
) -> Errors | Finding:
    parity = _parity(reference, baseline, candidate)
    if parity is not None:
        return parity
    floor = rounding_floor(baseline.dtype, length)
    limit, rms_limit = allowed(floor, own), allowed(floor / 4, own_rms)
    if own is None:  # the errors of both lie between them
        limit, rms_limit = limit + (FACTOR + 1) * known, rms_limit + (FACTOR + 1) * known
    limit, rms_limit = limit * slack, rms_limit * slack
    if baseline.numel() < _FEW:
        rms_limit = limit  # the mean over few elements is hardly less than the largest of them
    worst, at, rms, absolute = _errors(reference, candidate, baseline, scale)
    baseline_absolute = None if own is None else _errors(reference, baseline, baseline, scale)[3]
    compared = "the baseline (no fp64 reference here)" if own is None else "fp64"
    yours = "" if own is None else f"; baseline's own {baseline_absolute:.2g}"
    summary = f"max |err| {absolute:.2g} against {compared}{yours}; relative {worst:.2g}, {limit:.2g} allowed"
    if not worst <= limit or not rms <= rms_limit:
        place = _index(at, baseline.shape)
        got, expected = float(candidate.reshape(-1)[at]), float(reference.reshape(-1)[at])
        spread = "" if not worst <= limit else f"; root mean square {rms:.2g}, {rms_limit:.2g} allowed"
        return Finding("values", f"{summary}{spread}; at {place}: {got:.6g} instead of {expected:.6g}")
    return Errors(absolute, baseline_absolute, summary, _weakness(reference, scale, limit), own)


def _errors(
    reference: torch.Tensor, got: torch.Tensor, baseline: torch.Tensor, scale: float
) -> tuple[float, int, float, float]:
    """(largest relative error, its flat index, root mean square of relative errors, largest absolute error)."""
    worst, at, squares, absolute, start = 0.0, 0, 0.0, 0.0, 0
    for ref, val, base in zip(_chunks(reference), _chunks(got), _chunks(baseline), strict=True):
        r, v, finite = ref.to(torch.float64), val.to(torch.float64), torch.isfinite(base)
        difference = torch.where(finite & torch.isfinite(r), (v - r).abs(), 0.0)
        relative = difference / (r.abs() + scale).clamp(min=torch.finfo(torch.float64).tiny)
        relative = torch.where(difference == 0, 0.0, relative)
        peak = int(relative.argmax())
        if float(relative[peak]) > worst or start == 0:
            worst, at = float(relative[peak]), start + peak
        squares += float(relative.square().sum())
        absolute = max(absolute, float(difference.max()))
        start += ref.numel()
    return worst, at, math.sqrt(squares / max(start, 1)), absolute


def _parity(reference: torch.Tensor, baseline: torch.Tensor, candidate: torch.Tensor) -> Finding | None:
    """Non-finite values must stand where the baseline's do; a candidate may be finite where the fp64 run is, too."""
    start = 0
    for ref, base, cand in zip(_chunks(reference), _chunks(baseline), _chunks(candidate), strict=True):
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


def _weakness(reference: torch.Tensor, scale: float, limit: float) -> str:
    """Which trivial answer would pass as well: zeros, or one constant everywhere."""
    largest, low, high = 0.0, math.inf, -math.inf
    for chunk in _chunks(reference):
        finite = chunk[torch.isfinite(chunk)]
        if finite.numel():
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    largest = max(abs(low), abs(high))
    if low > high:
        return "the baseline's output has no finite value"
    if largest <= limit * (largest + scale):
        return "a zero output would pass"
    if reference.numel() > 1 and high - low <= limit * (largest + scale):
        return "a constant output would pass"
    return ""


def _exact(baseline: torch.Tensor, candidate: torch.Tensor) -> Errors | Finding:
    start = 0
    for base, cand in zip(_chunks(baseline), _chunks(candidate), strict=True):
        wrong = base != cand
        if bool(wrong.any()):
            at = int(wrong.to(torch.uint8).argmax())
            place = _index(start + at, baseline.shape)
            return Finding("values", f"{cand[at].item()} at {place} instead of {base[at].item()}, compared exactly")
        start += base.numel()
    constant = baseline.numel() > 1 and bool((baseline == baseline.reshape(-1)[0]).all())
    return Errors(0.0, None, "equal", "a constant output would pass" if constant else "", own=0.0)


def _chunks(tensor: torch.Tensor) -> list[torch.Tensor]:
    return list(tensor.detach().reshape(-1).split(_CHUNK))


def _index(flat: int, shape: torch.Size) -> tuple[int, ...]:
    place: list[int] = []
    for size in reversed(shape):
        flat, remainder = divmod(flat, size)
        place.insert(0, remainder)
    return tuple(place)


def _layout(expected: torch.Tensor, got: torch.Tensor, where: str) -> Finding | None:
    """A contiguous tensor may replace a view: whatever a caller does with the view works on it. Not the other way."""
    strides = [_strides(tensor) for tensor in (expected, got)]
    if strides[0] == strides[1] or got.is_contiguous() or expected.numel() == 0:
        return None
    detail = f"{where} has strides {tuple(got.stride())}, the baseline's {tuple(expected.stride())}"
    return Finding("layout", f"{detail}: a caller's .view() would fail")


def _strides(tensor: torch.Tensor) -> list[int]:
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def _tensor_type(got: Any, where: str) -> Finding | None:
    if not isinstance(got, torch.Tensor):
        return Finding("structure", f"{where} is {_article(got)}, the baseline's is a tensor")
    if type(got) not in (torch.Tensor, torch.nn.Parameter):
        return Finding("structure", f"{where} is a {type(got).__name__}, a tensor subclass that may compute later")
    if got.layout is torch.strided and got.numel():
        span = 1 + sum((n - 1) * s for n, s in zip(got.shape, got.stride(), strict=True)) + got.storage_offset()
        if got.is_meta or got.untyped_storage().nbytes() < span * got.element_size():
            return Finding("structure", f"{where} is a tensor without memory of its own size")
    return None


def _article(value: Any) -> str:
    name = type(value).__name__
    return "None" if value is None else f"a {name}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
