"""Which calls the gate makes: the workload's own cases, other seeds and scales, and sizes at the boundaries."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.properties import NON_FINITE, PROPERTIES
from kernelwright.proof.worker.subject import case_call
from kernelwright.values import Call, TensorSpec, Workload

# A size as written: an integer that is not part of a name, a float or an exponent.
_INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_SHIFT = re.compile(r"(?<![\w.])(\d+)\s*<<\s*(\d{1,2})(?![\w.])")
_SMALLEST_SIZE = 16  # smaller literals are dims, kernel sizes and flags rather than sizes
_MOST_DERIVED = 7
_PROPERTY_ELEMENTS = 1 << 18
_OFFSETS_OF_32_BITS = 1 << 31
INTERPRETER_ELEMENTS = 1 << 13  # of one call's tensors in Triton's interpreter, where a program takes milliseconds


@dataclass(frozen=True)
class Variation:
    """One call of the gate. `call` None: get_inputs(), with `rows` of the leading dimension (at most, of special data).

    `derived` sizes were not asked for by anybody: the baseline may refuse them, and then they do not count.
    `perturbed`: parameters that are all alike (a bias of zeros) are given other values in baseline and candidate.
    `poisoned`: the candidate runs once more on allocations full of NaN. `finite`: counts only where the baseline's
    output is finite. `data`: the property of the inputs (see properties), random where empty. `reweighted`: all floating
    parameters are given other values. `whole`: where there are fewer rows than asked for, all of them are taken.
    """

    label: str
    call: Call | None
    seed: int
    scale: float = 1.0
    rows: int | None = None
    derived: bool = False
    perturbed: bool = False
    poisoned: bool = False
    finite: bool = False
    data: str = ""
    reweighted: bool = False
    whole: bool = False

    @property
    def described(self) -> str:
        scaled = f", inputs x {self.scale:g}" if self.scale != 1.0 else ""
        changed = ", constant parameters changed" if self.perturbed else ""
        changed = ", all parameters changed" if self.reweighted else changed
        data = f", {self.data}" if self.data else ""
        return f"{self.label}, seed {self.seed}{scaled}{data}{changed}"


def plan(
    workload: Workload,
    *,
    seeds: int,
    first_seed: int,
    most_elements: int | None = None,
    most_derived: int | None = _MOST_DERIVED,
) -> list[Variation]:
    """All variations, the most telling first.

    `most_elements` caps the tensors of one call (for the interpreter), `most_derived` the sizes at boundaries.
    """
    texts = [case.text for case in workload.cases]
    if not texts:
        batches = _batches(first_seed + seeds)
        small = Variation("get_inputs() with batch 2", None, first_seed + seeds + 1, rows=2, derived=True)
        around = _around(Variation("get_inputs()", None, first_seed), seeds)
        # Scaled inputs tell as much with few rows, which leaves time for more kinds of them.
        few = [v if v.scale == 1.0 else replace(v, label="get_inputs(), 7 rows at most", rows=7) for v in around]
        return few + batches + _properties(small)
    texts[0] = _SHIFT.sub(lambda m: str(int(m.group(1)) << int(m.group(2))), texts[0])  # so that it has boundaries, too
    long_rows: tuple[str, ...] = ()
    if most_elements is not None:
        long_rows = _long_rows(texts[0], most_elements)
        texts = list(dict.fromkeys(shrunk(text, most_elements) for text in texts))
    first = Variation(texts[0], case_call(texts[0]), first_seed)
    others = [Variation(text, case_call(text), first_seed + 1, poisoned=True) for text in texts[1:]]
    boundaries = [
        Variation(text, call, first_seed + 2, derived=True, poisoned=True)
        for text, call in _boundaries(texts[0], most_elements, most_derived)
        if text not in (*texts, *long_rows)
    ]
    long = [
        Variation(text, case_call(text), first_seed + 2, derived=True, poisoned=True)
        for text in long_rows
        if text not in texts
    ]
    around = _around(first, seeds)
    small = shrunk(texts[0], min(_PROPERTY_ELEMENTS, most_elements or _PROPERTY_ELEMENTS))
    special = _properties(Variation(small, case_call(small), first_seed + 3, derived=True))
    return [*around[:2], *others, *long, *around[2:], *boundaries, *special]


def for_gradients(
    workload: Workload, *, first_seed: int, most_elements: int | None = None, every: bool = False
) -> list[Variation]:
    """Small calls on which gradients are compared: the first case, and one or `every` boundary, or a smaller batch."""
    if not workload.cases:
        return [
            Variation(f"get_inputs(), {rows} rows at most", None, first_seed + 4, rows=rows, derived=True, whole=True)
            for rows in (7, 2)
        ]
    most = min(_PROPERTY_ELEMENTS, most_elements or _PROPERTY_ELEMENTS)
    small = shrunk(workload.cases[0].text, most)
    boundaries = [text for text, _ in _boundaries(small, most) if text != small]
    texts = [small, *(boundaries if every else boundaries[:1])]
    return [Variation(text, case_call(text), first_seed + 4, derived=text != small) for text in texts]


def beyond_32_bits(text: str) -> tuple[str, Call, int] | None:
    """The line with one of its sizes so large that a tensor has just more than 2^31 elements, the leading size if it can be.

    With the bytes of all its tensors and of an output as large as the largest. None where no size makes one.
    """
    text = _SHIFT.sub(lambda m: str(int(m.group(1)) << int(m.group(2))), text)
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


def _long_rows(text: str, most_elements: int) -> tuple[str, ...]:
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


def _around(first: Variation, seeds: int) -> list[Variation]:
    """The same sizes: as they are, on other seeds with other parameters, and scaled."""
    count = max(seeds, 2)
    module = first.call is None or first.call.init_args is not None
    more = [
        replace(first, seed=first.seed + i, perturbed=module, reweighted=module and i == count - 1)
        for i in range(1, count)
    ]
    scaled = [replace(first, seed=first.seed + count, scale=scale, derived=True) for scale in (3.0, 0.01, -1.0)]
    # Far from zero a softmax without its maximum, or a variance as a difference of squares, overflows.
    scaled.append(replace(first, seed=first.seed + count, scale=100.0, derived=True, finite=True))
    return [replace(first, poisoned=True), *more, *scaled]


def _properties(small: Variation) -> list[Variation]:
    """Data of every kind, on sizes small enough to be cheap; finite data count where the baseline's output is finite."""
    return [replace(small, data=name, finite=name not in NON_FINITE) for name in PROPERTIES]


def _batches(seed: int) -> list[Variation]:
    return [
        Variation(f"get_inputs() with batch {rows}", None, seed, rows=rows, derived=True, poisoned=True)
        for rows in (1, 7)
    ]


def _boundaries(
    text: str, most_elements: int | None, most_derived: int | None = _MOST_DERIVED
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
