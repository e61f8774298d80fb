"""What is asked of a candidate where NaN or infinities stand in the inputs, which is less than that all bits agree.

A NaN must be seen in every output that depends on it, in whatever order a kernel adds. Where the baseline merely multiplies
it by zero, a kernel need not. Nor need infinities be subtracted in the same order: `inf - inf` is NaN. A kernel that spreads
either further than the baseline does so with a caveat; one that loses a NaN is wrong.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.properties import INFINITE, NON_FINITE, probes
from kernelwright.proof.worker.inputs import map_leaves
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.rejected import NotAccepted
from kernelwright.proof.worker.tensors import as_tensor
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Effort

SPREADS = "spreads NaN and Inf further than the baseline"
_SAFE = re.compile(r"\bscaled_dot_product_attention\b")
_CLOSE = 1e-3  # relative: of a number where the baseline has NaN, beside what it has without the NaN

Excuses = Iterator[tuple[str, torch.Tensor]]  # in words, and which elements


def agree(reference: Observation, baseline: Observation) -> bool:
    """Whether the fp64 run has NaN and infinities exactly where the baseline has them, in outputs and changed state."""
    expected, got = (list(_tensors(one, baseline)) for one in (baseline, reference))
    return len(expected) == len(got) and not _differs(baseline, reference)


def excused(
    bench: Bench, variation: Variation, target: Any, baseline: Observation, candidate: Observation
) -> tuple[Observation, str]:
    """The candidate's observation without the differences that are accepted on this data, and what these were in words.

    Raises NotAccepted where the baseline cannot be called to find out.
    """
    if variation.data not in NON_FINITE or not _differs(baseline, candidate):
        return candidate, ""
    observed, words = candidate, ""
    limits, infinite = bench.trial.limits, variation.data in INFINITE
    strict = limits.strict_non_finite or limits.effort is Effort.PARANOID
    if infinite:
        safe = bool(_SAFE.search(bench.trial.baseline))
        observed, words = _excusing(lambda _, base, got: _of_infinities(base, got, safe=safe), baseline, candidate)
        if strict or not _differs(baseline, observed):
            return observed, words
    plain = make_inputs(bench, replace(variation, data=""))
    try:
        without, *probed = (observe(target, i, seed=variation.seed) for i in (plain, *probes(plain, variation.data)))
    except Exception as error:
        raise NotAccepted from error
    unread = _unread(baseline, (without, *probed))
    # Where not even `without` tells one output from another (a constant), the NaN is all the evidence there is.
    if not infinite and unread and not judge(Oracle(None, without), without, 1).trivial:
        observed, words = _excusing(lambda index, *pair: _of_products(*pair, *unread[index]), baseline, candidate)
    if strict or not unread or not _shows_a_number(baseline, observed):
        return observed, words
    observed, further = _excusing(lambda index, *pair: _spread(*pair, *unread[index]), baseline, observed)
    bench.evidence.caveats += [SPREADS] if further else []
    return observed, "; ".join(filter(None, (words, further)))


def _of_infinities(base: torch.Tensor, got: torch.Tensor, *, safe: bool) -> Excuses:
    """Where the baseline is NaN the candidate may have anything: an invalid operation on infinities need not be made. Where
    it is infinite the candidate may be NaN. A finite number of the baseline's stays one, and infinities keep their sign.

    `safe`: the baseline calls PyTorch's attention, which makes zeros of a row of which every score is -inf. Written out,
    that is 0 / 0.
    """
    yield "a number or infinity where the baseline has NaN", base.isnan() & ~got.isnan()
    yield "NaN where the baseline has an infinity", base.isinf() & got.isnan()
    if safe and base.dim() >= 2:
        nothing = (base == 0).all(-1, keepdim=True) & got.isnan().all(-1, keepdim=True)
        yield "NaN where every score is -inf, of which PyTorch's attention makes 0,", nothing.expand_as(base)


def _of_products(base: torch.Tensor, got: torch.Tensor, without: torch.Tensor, unread: torch.Tensor) -> Excuses:
    """Where the baseline's NaN is no more than `0 * NaN`, the candidate may have the number that it is `without` the NaN."""
    near = (got - without).abs() <= _CLOSE * (without.abs() + without[without.isfinite()].abs().mean())
    words = "the number that it is without the NaN, which the baseline only multiplies by zero,"
    yield words, base.isnan() & near & unread


def _spread(base: torch.Tensor, got: torch.Tensor, without: torch.Tensor, unread: torch.Tensor) -> Excuses:
    """NaN and infinities of the candidate where the baseline does not read them.

    A sum as a product with a matrix, or a convolution as a product of spectra, multiplies what the baseline does not read by
    zero. A baseline that replaces a NaN reads it.
    """
    yield "NaN or an infinity where the baseline has a number", base.isfinite() & ~got.isfinite() & unread


def _unread(baseline: Observation, runs: Sequence[Observation]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each of the baseline's tensors as it is on the same data without NaN, and where it does not depend on what stands there.

    `runs`: the baseline's on data without NaN, and on large numbers in its place: what does not change with them does not
    depend on the elements. Nothing where they have other tensors.
    """
    found = []
    bases, *numbers = (list(_tensors(one, baseline)) for one in (baseline, *runs))
    if any(len(tensors) != len(bases) for tensors in numbers):
        return []
    for base, without, *others in zip(bases, *numbers, strict=True):
        if all(one.shape == base.shape for one in (without, *others)):
            found.append((without, torch.stack([other == without for other in others]).all(0)))
        else:
            found.append((base, torch.zeros_like(base, dtype=torch.bool)))
    return found


def _shows_a_number(baseline: Observation, candidate: Observation) -> bool:
    """Whether both have a finite number somewhere, which shows that the rest is right."""
    pairs = zip(_tensors(baseline, baseline), _tensors(candidate, baseline), strict=False)
    return any(bool((base.isfinite() & got.isfinite()).any()) for base, got in pairs if base.shape == got.shape)


def _excusing(
    excuses: Callable[[int, torch.Tensor, torch.Tensor], Excuses], baseline: Observation, candidate: Observation
) -> tuple[Observation, str]:
    """The candidate's observation with the baseline's elements where there are `excuses`, and how many of each in words.

    They are asked for with the number of a tensor, the baseline's and the candidate's.
    """
    expected, counts = list(_tensors(baseline, baseline)), dict[str, int]()
    if len(expected) != len(list(_tensors(candidate, baseline))):
        return candidate, ""
    numbers = iter(range(len(expected)))

    def leaf(value: Any) -> Any:
        if type(value) is float:
            number = as_tensor(value)
            made = leaf(number)
            return value if made is number else float(made)
        if not isinstance(value, torch.Tensor):
            return value
        index = next(numbers)
        base = expected[index]
        if not value.is_floating_point() or value.shape != base.shape or value.dtype != base.dtype:
            return value
        made = value
        for words, where in excuses(index, base, value):
            if not bool(where.any()):
                continue
            made = value.clone() if made is value else made  # keeps the strides, which are compared too
            made[where] = base[where]
            counts[words] = counts.get(words, 0) + int(where.sum())
        return made

    output = map_leaves(leaf, candidate.output)
    state = {name: leaf(candidate.changed_state[name]) for name in baseline.changed_state}
    told = "; ".join(f"{words} at {count} places" for words, count in counts.items())
    return replace(candidate, output=output, changed_state={**candidate.changed_state, **state}), told


def _differs(baseline: Observation, candidate: Observation) -> bool:
    pairs = zip(_tensors(baseline, baseline), _tensors(candidate, baseline), strict=False)
    return any(not _same_kinds(one, two) for one, two in pairs)


def _tensors(observation: Observation, like: Observation) -> Iterator[torch.Tensor]:
    """The outputs and numbers among them, then the state that `like` changes, where this one changes it too."""
    yield from observation.results()
    yield from (observation.changed_state[n] for n in like.changed_state if n in observation.changed_state)


def _same_kinds(one: torch.Tensor, two: torch.Tensor) -> bool:
    if one.shape != two.shape:
        return False
    if not (one.is_floating_point() and two.is_floating_point()):
        return True
    if one.element_size() == 1:  # torch asks float8 for its kind in float32 only
        one, two = one.float(), two.float()
    alike = (one.isnan() == two.isnan()) & (one.isposinf() == two.isposinf()) & (one.isneginf() == two.isneginf())
    return bool(alike.all())
