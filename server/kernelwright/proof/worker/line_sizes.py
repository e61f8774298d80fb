"""The sizes of a workload line, as written: how many elements it has, and the same line with fewer, more, or boundary sizes."""

import math
import re
from collections.abc import Iterator

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.subject import case_call
from kernelwright.values import Call, TensorSpec

# A size as written: an integer that is not part of a name, a float or an exponent.
_INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.])")
SHIFT = re.compile(r"(?<![\w.])(\d+)\s*<<\s*(\d{1,2})(?![\w.])")
_SMALLEST_SIZE = 16  # smaller literals are dims, kernel sizes and flags rather than sizes
MOST_DERIVED = 7
_OFFSETS_OF_32_BITS = 1 << 31


def elements(call: Call) -> int:
    """How many elements all tensors of the call have."""
    return sum(math.prod(spec.shape) for spec in _specs((call.args, call.kwargs, call.init_args, call.init_kwargs)))


def shrunk(text: str, most_elements: int) -> str:
    """The workload line with its sizes halved, the leading one first, until its tensors have few enough elements.

    A size that occurs several times is changed everywhere. The line is returned as it is when it cannot be shrunk.
    """
    while elements(case_call(text)) > most_elements:
        sizes = [int(m.group()) for m in _INTEGER.finditer(text) if int(m.group()) > _SMALLEST_SIZE]
        shifts = [int(m.group()) for m in re.finditer(r"(?<=<<)\s*\d+", text) if int(m.group()) > 4]
        if not sizes and not shifts:
            return text
        old, new = (sizes[0], max(sizes[0] // 2, _SMALLEST_SIZE)) if sizes else (shifts[0], shifts[0] - 1)
        smaller = _with_size(text, old, new)
        if _evaluated(smaller) is None:
            return text
        text = smaller
    return text


def with_long_rows(text: str, most_elements: int) -> tuple[str, ...]:
    """The line with two rows, which leaves their length as it is where that fits; () when it does not begin with a matrix.

    A size that is shrunk everywhere may end below a kernel's block size, and then nothing runs the block loop twice.
    """
    first = next(_specs(case_call(text).args), None)
    if first is None or len(first.shape) < 2 or first.shape[0] < _SMALLEST_SIZE:
        return ()
    long = _with_first(text, first.shape[0], 2)
    if _evaluated(long) is None:
        return ()
    return (shrunk(long, 2 * most_elements),)


def at_boundaries(
    text: str, most_elements: int | None, most_derived: int | None = MOST_DERIVED
) -> Iterator[tuple[str, Call]]:
    """The line with one of its sizes at a boundary: 1, a small odd number, one less, one more."""
    sizes = list(dict.fromkeys(int(m.group()) for m in _INTEGER.finditer(text)))
    sizes = [size for size in sizes if size >= _SMALLEST_SIZE]
    wanted = [_with_size(text, size, 7) for size in sizes]
    wanted += [_with_size(text, sizes[0], 1)] if sizes else []
    wanted += [_with_first(text, size, 7) for size in sizes if len(re.findall(rf"(?<![\w.]){size}(?![\w.])", text)) > 1]
    wanted += [_with_size(text, size, size + 1) for size in reversed(sizes)]
    wanted += [_with_size(text, size, size - 1) for size in reversed(sizes)]
    most = elements(case_call(text)) * 2 if most_elements is None else most_elements * 2
    found = 0
    for variant in dict.fromkeys(wanted):
        call = _evaluated(variant)
        if call is None or not 0 < elements(call) <= most:
            continue
        yield variant, call
        found += 1
        if found == most_derived:
            return


def beyond_32_bits(text: str) -> tuple[str, Call, int] | None:
    """The line with one of its sizes so large that a tensor has just more than 2^31 elements, the leading size if it can be.

    With the bytes of all its tensors and of an output as large as the largest. None where no size makes one.
    """
    text = SHIFT.sub(lambda m: str(int(m.group(1)) << int(m.group(2))), text)
    for old in dict.fromkeys(int(m.group()) for m in _INTEGER.finditer(text)):
        largest = _largest(_evaluated(text))
        if old < _SMALLEST_SIZE or largest % old:
            continue
        new = _OFFSETS_OF_32_BITS // (largest // old) + _SMALLEST_SIZE + 1
        for made in (_with_size(text, old, new), _with_first(text, old, new)):
            call = _evaluated(made)
            if call is not None and _OFFSETS_OF_32_BITS < _largest(call) <= 2 * _OFFSETS_OF_32_BITS:
                sizes = [math.prod(spec.shape) * _itemsize(spec.dtype) for spec in _specs((call.args, call.kwargs))]
                return made, call, sum(sizes) + max(sizes)
    return None


def _largest(call: Call | None) -> int:
    return max((math.prod(s.shape) for s in _specs((call.args, call.kwargs))), default=0) if call is not None else 0


def _itemsize(dtype: str) -> int:
    digits = re.search(r"\d+", dtype)
    return max(int(digits.group()) // 8, 1) if digits else 1


def _with_size(text: str, old: int, new: int) -> str:
    return _INTEGER.sub(lambda m: str(new) if int(m.group()) == old else m.group(), text)


def _with_first(text: str, old: int, new: int) -> str:
    return re.sub(rf"(?<![\w.]){old}(?![\w.])", str(new), text, count=1)


def _evaluated(text: str) -> Call | None:
    try:
        return case_call(text)
    except JobFailed:
        return None


def _specs(tree: object) -> Iterator[TensorSpec]:
    if isinstance(tree, TensorSpec):
        yield tree
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from _specs(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _specs(value)
