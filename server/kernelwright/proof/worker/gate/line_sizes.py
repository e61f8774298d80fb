"""The sizes of a workload line, as written: how many elements it has, and the same line with fewer, more, or boundary sizes."""

import functools
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.inputs import dtype_named, map_leaves, specs_in
from kernelwright.proof.worker.subject import case_call
from kernelwright.source.workload.evaluate import split_at_launch
from kernelwright.values import Call, TensorSpec

# A size as written: an integer that is not part of a name, a float or an exponent.
_INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_SHIFT = re.compile(r"(?<![\w.])(\d+)\s*<<\s*(\d{1,2})(?![\w.])")
_GRID = re.compile(r"\s*\w+\s*\[[^\[\]]*\](?=\s*\()")  # of a Triton kernel
_SMALLEST_SIZE = 16  # smaller literals are dims, kernel sizes and flags rather than sizes
_MOST_SMALL = 6
_INDICES = frozenset({"randint", "offsets", "tensor"})
_SHAPE = re.compile(  # whole sizes, not the 2 of `randn(2 * R + 1)`
    r"\b(?:randn|rand|zeros|ones)\(\s*(\d+(?=\s*[,)])(?:\s*,\s*\d+(?=\s*[,)]))*)"
)
_FEW = 4  # rows, where their number is not what is looked at
MOST_DERIVED = 8
_OFFSETS_OF_32_BITS = 1 << 31


def elements(call: Call) -> int:
    """How many elements all tensors of the call have."""
    return sum(math.prod(spec.shape) for spec in _all_specs(call))


def dtypes(text: str) -> tuple[str, ...]:
    """Those of the call's tensors, in order."""
    return tuple(spec.dtype for spec in _specs(case_call(text)))


def without_shifts(text: str) -> str:
    """The line with `1 << 20` written out, so that the size can be changed as any other."""
    launch, rest = split_at_launch(text)
    return launch + _SHIFT.sub(lambda m: str(int(m.group(1)) << int(m.group(2))), rest)


def shrunk(text: str, most_elements: int) -> str:
    """The workload line with its sizes halved, the leading one first, until its tensors have few enough elements.

    A size that occurs several times is changed everywhere. The line is returned as it is when it cannot be shrunk.
    """
    while elements(case_call(text)) > most_elements:
        sizes = [number for number in _numbers(text) if number > _SMALLEST_SIZE]
        shifts = [int(m.group()) for m in re.finditer(r"(?<=<<)\s*\d+", split_at_launch(text)[1]) if int(m.group()) > 4]
        if not sizes and not shifts:
            return text
        old, new = (sizes[0], max(sizes[0] // 2, _SMALLEST_SIZE)) if sizes else (shifts[0], shifts[0] - 1)
        smaller = _with_size(text, old, new)
        if _evaluated(smaller) is None:
            return text
        text = smaller
    return text


def pinned(text: str) -> Iterator[str]:
    """The line with each of its sizes in turn written as `1_024`, which is not taken for a size here."""
    for size in dict.fromkeys(_numbers(text)):
        if size > _SMALLEST_SIZE:
            written = f"{size:_}" if size >= 1000 else f"{size // 10}_{size % 10}"
            yield _with_size(text, size, written)


def with_long_rows(text: str, most_elements: int) -> tuple[str, ...]:
    """The line with two rows, which leaves their length as it is where that fits.

    Where it does not begin with a matrix of many rows, the longest rows of any tensor are left as they are, and there are
    few of all else; () where that does not fit. A size that is shrunk everywhere may end below a kernel's block size, and
    then nothing runs the block loop twice.
    """
    first, longest = next(specs_in(case_call(text).args), None), _longest(text)
    if first is None or len(first.shape) < 2 or first.shape[0] < _SMALLEST_SIZE:
        few = _changed(text, _sizes(text) - {longest}, lambda size: _FEW) if longest else None
        return (few,) if few is not None and elements(case_call(few)) <= 2 * most_elements else ()
    long = _with_rows(text, 2)
    return () if long is None else (shrunk(long, 2 * most_elements),)


def each_long(text: str, most_elements: int) -> Iterator[str]:
    """The line with each of its named sizes in turn as long as fits, one more than a power of two, and three of all others.

    So each axis of a grid has several blocks once, the last of them hardly filled. The last name also comes with one of all
    others, where all elements together are one more than a power of two. One name alone is long as it is.
    """
    found = case_call(text).named
    names = [name for name, size in found.items() if type(size) is int and size > _FEW and _is_in_a_size(text, name)]
    each = [(name, 3) for name in names] + [(name, 1) for name in names[-1:]]
    for name, few in each if len(names) > 1 else ():
        others = functools.reduce(lambda line, other, few=few: _named(line, other, few), names, text)
        lines = (_named(others, name, (1 << power) + 1) for power in reversed(range(_FEW, most_elements.bit_length())))
        fitting = (line for line in lines if (call := _evaluated(line)) and elements(call) <= most_elements)
        if (line := next(fitting, None)) is not None:
            yield line


def one_row(texts: Sequence[str]) -> str | None:
    """The first line with one row, or a batch of one; None where that is no size of its own.

    A small leading size may be a kernel's taps, which nobody makes one: it counts where the lines differ in it, or where
    its tensor is the largest of the call.
    """
    firsts = [_matrix(case_call(text)) for text in texts]
    first = firsts[0]
    if first is None or first.shape[0] == 1:
        return None
    varies = len({spec.shape[0] for spec in firsts if spec is not None and len(spec.shape) == len(first.shape)}) > 1
    largest = math.prod(first.shape) == _largest(case_call(texts[0]))
    return _with_rows(texts[0], 1) if first.shape[0] >= _SMALLEST_SIZE or varies or largest else None


def has_one_row(text: str) -> bool:
    """Whether the first tensor of two dimensions or more has one row."""
    first = _matrix(case_call(text))
    return first is not None and first.shape[0] == 1


def stretched(texts: Sequence[str], most_elements: int) -> str | None:
    """Of the lines of few enough elements the one with the longest rows, their size one more than a power of two.

    So the last block has one element, whatever the block, and there are several blocks. None where no line is small.
    """
    small = [text for text in texts if elements(case_call(text)) <= most_elements and _longest(text)]
    if not small:
        return None
    text = max(small, key=_longest)
    old = _longest(text)
    whole = 1 << (old - 1).bit_length()
    for size in (whole + 1, whole // 2 + 1):
        longer = _with_size(text, old, size)
        call = _evaluated(longer)
        if old > _SMALLEST_SIZE and call is not None and elements(call) <= most_elements:
            return longer
    return text


def at_boundaries(
    text: str, most_elements: int | None, most_derived: int | None = MOST_DERIVED
) -> Iterator[tuple[str, Call]]:
    """The line with one of its sizes at a boundary: a small odd number, 1, one more, one less.

    A size that occurs several times is changed everywhere; where it is changed in one place only, most baselines refuse it.
    """
    numbers = _numbers(text)
    # What is beyond 32 bits is a range of integers.
    sizes = [n for n in dict.fromkeys(numbers) if _SMALLEST_SIZE <= n < _OFFSETS_OF_32_BITS]
    wanted = [_with_size(text, size, 7) for size in sizes]
    wanted += [_with_size(text, sizes[0], 1)] if sizes else []
    wanted += [_with_size(text, size, size + 1) for size in reversed(sizes)]
    wanted += [_with_size(text, size, 7, count=1) for size in sizes if numbers.count(size) > 1]
    wanted += [_with_size(text, size, size - 1) for size in reversed(sizes)]
    most = elements(case_call(text)) * 2 if most_elements is None else most_elements * 2
    found = 0
    for variant in dict.fromkeys(wanted):
        call = _evaluated(variant)
        if call is None or not 0 < elements(call) <= most or not _indices_fit(text, variant):
            continue
        yield variant, call
        found += 1
        if found == most_derived:
            return


def at_numbers(text: str, numbers: Sequence[int], most_elements: int) -> Iterator[str]:
    """The line with one of its sizes just beyond twice each of the numbers, just beyond it, and at it, the larger ones first.

    Where that makes too many elements, there are few of all else.
    """
    sizes = sorted({size for spec in _all_specs(case_call(text)) for size in spec.shape}, reverse=True)
    written = [size for size in sizes if size in _numbers(text)]
    for number in numbers:
        for new in (2 * number + 1, number + 1, number):
            for size in written:
                made = _changed(text, {size}, lambda _, new=new: new)
                if made is not None and elements(case_call(made)) > most_elements:
                    made = _changed(made, _sizes(made) - {new}, lambda _: _FEW)
                if made is not None and 0 < elements(case_call(made)) <= most_elements:
                    yield made


def with_more_of_few(text: str) -> Iterator[str]:
    """The line with one more where a tensor has a small size: a batch of one, one head for keys, a window that does not fit."""
    yield from _of_few(text, lambda size: size + 1)


def with_ones(text: str) -> Iterator[str]:
    """The line with each size of a tensor in turn 1, equal ones together; most baselines refuse some of these."""
    yield from filter(None, (_changed(text, {size}, lambda size: 1) for size in sorted(_sizes(text))))
    yield from _of_few(text, lambda size: 1)


def emptied(text: str) -> str | None:
    """The line with no rows in its first matrix, or no elements in its first tensor; None where it cannot be said."""
    made, call = _with_rows(text, 0), case_call(text)
    first = next(specs_in(call.args), None)
    if made is not None or _matrix(call) is not None or first is None or not first.shape:
        return made
    return _changed(text, {first.shape[0]}, lambda size: 0)


def one_sign(text: str) -> bool:
    """Whether no tensor of the line is drawn from numbers of both signs."""
    return all(spec.generator != "randn" for spec in _all_specs(case_call(text)))


def _of_few(text: str, change: Callable[[int], int]) -> Iterator[str]:
    """The line with one of the small sizes of its tensors changed, equal ones at the same place of several tensors together.

    Behind its first two sizes only those of the first tensor: a weight has a window's there, which rewrites may be made for.
    """
    tensors = [
        (match.start(1), [(m.start(), int(m.group())) for m in re.finditer(r"\d+", match.group(1))])
        for match in _SHAPE.finditer(text)
    ]
    places = [(at, n, number) for number, (_, sizes) in enumerate(tensors) for at, (_, n) in enumerate(sizes)]
    small = dict.fromkeys((at, n) for at, n, number in places if n < _SMALLEST_SIZE and (at < 2 or number == 0))
    for at, size in list(small)[:_MOST_SMALL]:
        spans = [
            (start + sizes[at][0], start + sizes[at][0] + len(str(size)))
            for start, sizes in tensors
            if at < len(sizes) and sizes[at][1] == size
        ]
        made = _put(text, spans, change(size))
        if made != text and _evaluated(made) is not None and _indices_fit(text, made):
            yield made


def with_aligned_ends(text: str, *, longest: bool = False) -> str | None:
    """The line with the sizes of its tensors, or the `longest` one alone, multiples of 16 and of no larger power of two.

    So tensors end at multiples of 16 bytes, where one element beyond is seen on a GPU, and within a block. None where no
    size changes.
    """
    sizes = _sizes(text)
    return _changed(text, {max(sizes)} if sizes and longest else sizes, lambda size: size // 32 * 32 + 16)


def beyond_32_bits(text: str) -> tuple[str, Call, int] | None:
    """The line with one of its sizes so large that a tensor has just more than 2^31 elements, the leading size if it can be.

    With the bytes of all its tensors and of an output as large as the largest. None where no size makes one.
    """
    text = without_shifts(text)
    for old in dict.fromkeys(_numbers(text)):
        largest = _largest(_evaluated(text))
        if old < _SMALLEST_SIZE or largest % old:
            continue
        new = _OFFSETS_OF_32_BITS // (largest // old) + _SMALLEST_SIZE + 1
        for made in (_with_size(text, old, new), _with_size(text, old, new, count=1)):
            call = _evaluated(made)
            if call is not None and _OFFSETS_OF_32_BITS < _largest(call) <= 2 * _OFFSETS_OF_32_BITS:
                sizes = [math.prod(spec.shape) * dtype_named(spec.dtype).itemsize for spec in _specs(call)]
                return made, call, sum(sizes) + max(sizes)
    return None


def _numbers(text: str) -> list[int]:
    """The whole numbers that are written in the line, in order; not those of a launch, which hang on the kernel."""
    return [int(match.group()) for match in _INTEGER.finditer(split_at_launch(text)[1])]


def _sizes(text: str) -> set[int]:
    """The sizes of tensors that are written in the line and not small, those with a name of which a tensor has the product."""
    call = case_call(text)
    sizes = {size for spec in _all_specs(call) for size in spec.shape}
    sizes |= {value for name, value in call.named.items() if type(value) is int and _is_in_a_size(text, name)}
    return {size for size in sizes.intersection(_numbers(text)) if size >= _SMALLEST_SIZE}


def _is_in_a_size(text: str, name: str) -> bool:
    """Whether a factor of a tensor's size is named so, as in `randn(M * K)`."""
    return bool(re.search(rf"\(\s*(?:[\w\s*,]*[\s*,(])?{re.escape(name)}\s*[*,)]", split_at_launch(text)[1]))


def _changed(text: str, sizes: Collection[int], change: Callable[[int], int]) -> str | None:
    """The line with each of these sizes changed everywhere; None where nothing changes, or it no longer fits together."""
    launch, rest = split_at_launch(text)
    made = launch + _INTEGER.sub(lambda m: str(change(int(m.group()))) if int(m.group()) in sizes else m.group(), rest)
    return made if made != text and _evaluated(made) is not None and _indices_fit(text, made) else None


def _with_rows(text: str, rows: int) -> str | None:
    """The line with so many rows in its first matrix, and in all tensors that share the size; None where it cannot be said.

    Where the same number stands for something else as well (a width, a range of indices), only the first one is changed.
    """
    call = case_call(text)
    first = _matrix(call)
    if first is None:
        return None
    begins = len(split_at_launch(text)[0])
    same = [match.span() for match in _INTEGER.finditer(text, begins) if int(match.group()) == first.shape[0]]
    leading = [span for span in same if _without_rows(_evaluated(_put(text, (span,), rows))) == _without_rows(call)]
    made = _put(text, leading if len(leading) == len(same) else leading[:1], rows)
    changed = _evaluated(made)
    found = _matrix(changed) if changed is not None else None
    return made if found is not None and found.shape[0] == rows and _indices_fit(text, made) else None


def _indices_fit(text: str, changed: str) -> bool:
    """Whether no number that was the range of a randint, or one more, is below that range now: what is drawn may be an index.

    On a CPU an operator raises for one that is out of range. On a GPU it ends the context of its process.
    """
    ranges = zip(drawn_ranges(text), drawn_ranges(changed), strict=False)
    numbers = list(zip(_numbers(text), _numbers(changed), strict=False))
    return all(b >= now for was, now in ranges for a, b in numbers if a in (was, was + 1))


def drawn_ranges(text: str) -> list[int]:
    """The upper bounds of all numbers in the line that may be indices: a randint's end, the largest that is written out."""
    call = _evaluated(text)
    specs = _all_specs(call) if call is not None else ()
    return [int(max(spec.parameters)) for spec in specs if spec.generator in _INDICES and spec.parameters]


def _named(text: str, name: str, size: int) -> str:
    """The line with another number for a name that it gives."""
    launch, rest = split_at_launch(text)
    return launch + re.sub(rf"\b{name}=\d+\b", f"{name}={size}", rest)


def _put(text: str, spans: Sequence[tuple[int, int]], number: int) -> str:
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]}{number}{text[end:]}"
    return text


def _without_rows(call: Call | None) -> Call | None:
    """The call with all leading sizes alike, to see whether anything else differs."""
    leaf = lambda value: replace(value, shape=(0, *value.shape[1:])) if isinstance(value, TensorSpec) else value
    return call and replace(call, args=map_leaves(leaf, call.args), kwargs=map_leaves(leaf, call.kwargs))


def _matrix(call: Call) -> TensorSpec | None:
    return next((spec for spec in _specs(call) if len(spec.shape) >= 2), None)


def _longest(text: str) -> int:
    """The largest size behind the leading one that is written in the line, 0 where there is none."""
    sizes = {size for spec in _specs(case_call(text)) for size in spec.shape[1:]}
    return max(sizes.intersection(_numbers(text)), default=0)


def _largest(call: Call | None) -> int:
    return max((math.prod(spec.shape) for spec in _specs(call)), default=0) if call is not None else 0


def _with_size(text: str, old: int, new: int | str, *, count: int = 0) -> str:
    """The line with the number changed everywhere, or in the first `count` places of its arguments.

    Were only the programs of a launch changed, nobody would write a part of what it returns.
    """
    launch, rest = split_at_launch(text)
    if count and (grid := _GRID.match(rest)):
        launch, rest = launch + grid.group(), rest[grid.end() :]
    return launch + re.sub(rf"(?<![\w.]){old}(?![\w.])", str(new), rest, count=count)


def _evaluated(text: str) -> Call | None:
    try:
        return case_call(text)
    except JobFailed:
        return None


def _specs(call: Call) -> Iterator[TensorSpec]:
    return specs_in((call.args, call.kwargs))


def _all_specs(call: Call) -> Iterator[TensorSpec]:
    """The constructor's, too."""
    return specs_in((call.args, call.kwargs, call.init_args, call.init_kwargs))
