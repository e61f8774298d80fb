"""Which calls the gate makes: the workload's own cases, other seeds and scales, and sizes at the boundaries."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from kernelwright.proof.worker.gate.line_sizes import (
    MOST_DERIVED,
    at_boundaries,
    drawn_ranges,
    dtypes,
    each_long,
    emptied,
    has_one_row,
    one_row,
    one_sign,
    shrunk,
    stretched,
    with_aligned_ends,
    with_long_rows,
    with_more_of_few,
    with_ones,
    without_shifts,
)
from kernelwright.proof.worker.gate.properties import NON_FINITE, OTHER_RANKS, PROPERTIES, SIGNED_ZEROS, SLOPES
from kernelwright.proof.worker.subject import case_call
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Workload

_PROPERTY_ELEMENTS = 1 << 18
_FEW_ELEMENTS = 1 << 6  # of all tensors of a call in which next to nothing is summed up
# A path that is chosen by size sees special data at the workload's own size alone: no maximum, one pass for a variance, a NaN
# or a bias of zeros left out. Inputs times 100 come at that size, too, times -1 where all have one sign.
_AT_FULL_SIZE = ("constants varied", "NaN planted", "large offset")
_LARGE_SCALE = 100.0
_SCALES = (3.0, 0.01, -1.0)
INTERPRETER_ELEMENTS = 1 << 13  # of one call's tensors in Triton's interpreter, where a program takes milliseconds


def plan(
    workload: Workload,
    *,
    seeds: int,
    first_seed: int,
    most_elements: int | None = None,
    most_derived: int | None = MOST_DERIVED,
) -> list[Variation]:
    """All variations, the most telling first.

    `most_elements` caps the tensors of one call (for the interpreter), `most_derived` the sizes at boundaries.
    """
    texts = [case.text for case in workload.cases]
    if not texts:
        seed = first_seed + seeds
        batches = [
            Variation(f"get_inputs() with batch {n}", None, seed, rows=n, derived=True, poisoned=n > 0, empty=n == 0)
            for n in (1, 7, 0)
        ]
        small = Variation("get_inputs() with batch 2", None, first_seed + seeds + 1, rows=2, derived=True)
        whole = Variation("get_inputs()", None, first_seed + seeds + 1, derived=True)
        return (
            _around(Variation("get_inputs()", None, first_seed), seeds)
            + batches
            + _scaled(small)
            + [_of_other_numbers(small)]
            + _properties(small)
            + [_times_100(whole), *_special(whole, _AT_FULL_SIZE)]
        )
    texts[0] = without_shifts(texts[0])  # so that it has boundaries, too
    most_special = min(_PROPERTY_ELEMENTS, most_elements or _PROPERTY_ELEMENTS)
    small, single, long_rows = shrunk(texts[0], most_special), one_row(texts), with_long_rows(texts[0], most_special)
    ending = [with_aligned_ends(small), *(with_aligned_ends(text, longest=True) for text in long_rows)]
    slopes = stretched([*long_rows, *(shrunk(text, most_special) for text in texts)], 2 * most_special)
    if most_elements is None:
        long_rows = ()
    else:
        ending = []  # the interpreter sees accesses as they are
        long_rows = (*long_rows, *each_long(texts[0], most_elements))
        single = single and shrunk(single, most_elements)
        texts = list(dict.fromkeys(shrunk(text, most_elements) for text in texts))
    first = Variation(texts[0], case_call(texts[0]), first_seed)
    others = [Variation(text, case_call(text), first_seed + 1, poisoned=True) for text in texts[1:]]
    sizes = [text for text, _ in at_boundaries(texts[0], most_elements, most_derived)]
    of_few, empty = with_more_of_few(small), emptied(small)
    boundaries = _of_sizes([*sizes, *ending, *of_few], first_seed + 2, (*texts, *long_rows))
    # And what else is cheap and shows what nothing else does, before time may run out.
    long = _of_sizes(long_rows, first_seed + 2, texts)
    if single is not None and not any(has_one_row(v.label) for v in others):
        given = next((v for v in boundaries if has_one_row(v.label)), None)
        long += [given] if given else _of_sizes([single], first_seed + 2, ())
        boundaries = [v for v in boundaries if v is not given]
    # Roundings that differ from element to element cancel in sums and means: with few terms they show.
    few = shrunk(single or texts[0], _FEW_ELEMENTS)
    if few not in {v.label for v in (first, *others, *long, *boundaries)}:
        boundaries.append(Variation(few, case_call(few), first_seed + 2, derived=True))
    # A branch for one number (a class that is ignored, a token that pads) hides in a mean until many ask for it.
    asking = dict.fromkeys(shrunk(text, most_special) for text in texts if drawn_ranges(text))
    ends = [Variation(text, case_call(text), first_seed + 3, derived=True, ends=True) for text in asking]
    around = _around(first, seeds)
    plain = Variation(small, case_call(small), first_seed + 3, derived=True)
    ones = [one for one in with_ones(small) if one not in {v.label for v in (first, *others, *long, *boundaries)}]
    ends += [replace(plain, label=one, call=case_call(one)) for one in dict.fromkeys(ones)]
    ends += [replace(plain, label=empty, call=case_call(empty), empty=True)] if empty else []
    ends.append(_of_other_numbers(plain))
    scaled = _scaled(plain)
    special = _properties(plain, slopes)
    long += [one for one in special if one.data == SLOPES]
    special = [one for one in special if one.data != SLOPES]
    if texts[0] != small:
        whole = replace(first, seed=first_seed + 3, derived=True)
        scaled += [_times_100(whole), *([replace(whole, scale=-1.0)] if one_sign(texts[0]) else ())]
        special += _special(whole, _AT_FULL_SIZE)
    for text in _of_other_dtypes(texts):  # which may be a path of their own, too
        reduced = shrunk(text, most_special)
        other = Variation(reduced, case_call(reduced), first_seed + 3, derived=True)
        special += [_times_100(other), *_special(other, _AT_FULL_SIZE)]
    return [*around[:2], *others, *long, *around[2:], *scaled, *boundaries, *ends, *special]


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
    boundaries = [text for text, _ in at_boundaries(small, most) if text != small]
    texts = [small, *(boundaries if every else boundaries[:1])]
    return [Variation(text, case_call(text), first_seed + 4, derived=text != small) for text in texts]


def _of_sizes(texts: Iterable[str | None], seed: int, known: Collection[str]) -> list[Variation]:
    """Lines of sizes that nobody asked for, but for those that are `known`."""
    new = [text for text in dict.fromkeys(texts) if text is not None and text not in known]
    return [Variation(text, case_call(text), seed, derived=True, poisoned=True) for text in new]


def _around(first: Variation, seeds: int) -> list[Variation]:
    """The same sizes: as they are, and on other seeds with other parameters."""
    count = max(seeds, 2)
    module = first.call is None or first.call.init_args is not None
    more = [
        replace(first, seed=first.seed + i, perturbed=module, reweighted=module and i == count - 1)
        for i in range(1, count)
    ]
    return [replace(first, poisoned=True), *more]


def _scaled(small: Variation) -> list[Variation]:
    """The inputs times several factors.

    Far from zero a softmax without its maximum, or a variance as a difference of squares, overflows.
    """
    return [*(replace(small, scale=scale) for scale in _SCALES), _times_100(small)]


def _properties(small: Variation, slopes: str | None = None) -> list[Variation]:
    """Data of every kind, on sizes small enough to be cheap.

    `slopes`: the line for data whose point is that they differ from block to block.
    """
    long = small if slopes is None else replace(small, label=slopes, call=case_call(slopes))
    return [one for name in PROPERTIES for one in _special(long if name == SLOPES else small, (name,))]


def _special(call: Variation, names: Iterable[str]) -> list[Variation]:
    """The call with data of these kinds; finite ones count where the baseline's output is finite."""
    finite = {name: name not in NON_FINITE | SIGNED_ZEROS for name in names}
    return [replace(call, data=n, finite=f, poisoned=n in OTHER_RANKS) for n, f in finite.items()]


def _of_other_numbers(call: Variation) -> Variation:
    return replace(call, numbers=True, finite=True)


def _times_100(call: Variation) -> Variation:
    return replace(call, scale=_LARGE_SCALE, finite=True)


def _of_other_dtypes(texts: Sequence[str]) -> list[str]:
    """Of the lines behind the first one for each combination of dtypes that no line before has."""
    found = {dtypes(text): text for text in reversed(texts)}
    return [text for text in found.values() if text != texts[0]]
